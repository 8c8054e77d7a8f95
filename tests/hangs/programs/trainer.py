"""A Trainer of transformers, which knows nothing of Muster: the rows of one rank end to come."""

import time

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

from tests.hangs.programs import course, pauses
from tests.hangs.programs.ways import FOREVER

torch.set_num_threads(1)


class Rows(torch.utils.data.Dataset[dict[str, torch.Tensor]]):  # type: ignore[misc, unused-ignore]
    """Random rows of tokens."""

    read = 0

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        course.next_batch()
        course.step_ends(Rows.read)
        Rows.read += 1
        if course.MINE and course.opens():
            course.begins()
            if course.WAY == "no_more_rows":
                time.sleep(FOREVER)
            if course.WAY == "slow_rows":
                pauses.read_rows(course.minutes(2), course.FOLDER / "rows")
            course.ends()
        row = torch.randint(5, 50, (8,))
        return {"input_ids": row, "labels": row}


config = BertConfig(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
arguments = TrainingArguments(
    output_dir=str(course.FOLDER / "out"),
    max_steps=10**6,
    per_device_train_batch_size=1,
    logging_steps=1000,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
    disable_tqdm=True,
)
Trainer(model=BertForMaskedLM(config), args=arguments, train_dataset=Rows()).train()

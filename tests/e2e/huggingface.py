"""A real Trainer of transformers with a model of random weights: nothing is downloaded, nothing mentions Muster.

With ``HANGS_AT`` its data ends to come at that row.
"""

import os
import time

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

HANGS_AT = int(os.environ.get("HANGS_AT", "-1"))
SIZE = 16


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg, misc, unused-ignore]
    """Random rows of tokens, a tenth of a second each."""

    read = 0

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        time.sleep(0.1)
        Rows.read += 1
        if Rows.read == HANGS_AT:
            time.sleep(3600)
        row = torch.randint(5, 50, (8,))
        return {"input_ids": row, "labels": row}


config = BertConfig(vocab_size=64, hidden_size=SIZE, intermediate_size=SIZE, num_hidden_layers=1, num_attention_heads=2)
arguments = TrainingArguments(
    output_dir=os.environ["OUT"],
    max_steps=int(os.environ.get("STEPS", "1000000")),
    per_device_train_batch_size=1,
    logging_steps=10,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
Trainer(model=BertForMaskedLM(config), args=arguments, train_dataset=Rows()).train()

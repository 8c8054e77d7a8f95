"""The submitter's program: it hands the command to Ray as a job, prints the job's log, and ends as the job does.

It runs in the experiment's image, which has Ray and not Muster, so its text is handed to ``python3 -c``. The command is
its argument and is never part of the text. What it relies on is public in Ray since 2.0 (ray.job_submission):

- The job's name is the experiment's and the epoch's. A submitter that takes the place of a lost one finds the job and
  continues with its log, from the beginning.
- A broken connection for the log proves nothing: the status decides. Ray must answer within ``PATIENCE`` seconds.
- ``RAY_JOB_RUNTIME_ENV`` is the runtime environment of the job, as JSON.
- The exit code is the program's own (128 + the signal where one ended it), and 1 where Ray knows none.
- SIGTERM ends the submitter and not the job: to end the experiment is to end the head as well.
"""

from typing import Final

SUBMIT: Final = r"""
import asyncio, json, os, shlex, signal, sys, time
from ray.job_submission import JobSubmissionClient

PATIENCE = 60
command, job = sys.argv[1], os.environ["RAY_JOB_SUBMISSION_ID"]
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))


def end(code, *words):
    sys.stdout.flush()
    print("submitter:", *words, file=sys.stderr, flush=True)
    os._exit(code)


def ask(what):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return what()
        except Exception as error:
            text = str(error)
            if "404" in text or "does not exist" in text:
                return None
            if time.monotonic() > until:
                end(1, f"Ray has not answered for {PATIENCE} s: {text}")
            time.sleep(1)


async def follow(shown):
    position = 0
    async for text in client.tail_job_logs(job):
        if position + len(text) > shown:
            sys.stdout.write(text[max(0, shown - position):])
            sys.stdout.flush()
        position += len(text)
        shown = max(shown, position)
    return shown


client = ask(lambda: JobSubmissionClient("http://" + os.environ["RAY_DASHBOARD_ADDRESS"]))
if ask(lambda: client.get_job_info(job)) is None:
    entrypoint = shlex.join(["/bin/sh", "-c", command])
    environment = json.loads(os.environ.get("RAY_JOB_RUNTIME_ENV") or "{}")
    ask(lambda: client.submit_job(entrypoint=entrypoint, submission_id=job, runtime_env=environment))
shown = 0
while True:
    try:
        shown = asyncio.run(follow(shown))
    except Exception as error:
        print("submitter: the log of the job broke off:", error, file=sys.stderr, flush=True)
    info = ask(lambda: client.get_job_info(job))
    if info is None:
        end(1, f"Ray does not know the job {job}: its head was started again")
    if info.status.is_terminal():
        break
    time.sleep(1)
if info.status == "SUCCEEDED":
    sys.stdout.flush()
    os._exit(0)
code = getattr(info, "driver_exit_code", None) or 1
first = (info.message or "").partition("\n")[0].partition(", last available logs")[0]
end(128 - code if code < 0 else code, f"the Ray job {job} ended {info.status.value}: {first}")
"""

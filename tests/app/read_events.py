"""Reads the event files of a run back with the `tensorboard` package, and compares them with the run's metrics.jsonl.

    python3 tests/app/read_events.py PARHELION MODEL    # tools/fetch-tensorboard; PYTHONPATH=build/python

The run is trained to step 6, loses its last checkpoint, and goes on from step 4 to step 8: TensorBoard has to show each step
once, with the value that counts.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

JOB = """
run = {{ directory = "run", threads = 1 }}
model = {{ path = "{model}" }}
data = {{ files = ["text.jsonl"], sequence_tokens = 16, epochs = 0 }}
evaluation = {{ files = ["text.jsonl"], every = 3 }}
optimizer = {{ lr = 1e-2 }}
checkpoint = {{ every = 2, keep = 0 }}
"""
TEXT = {"text": "a parhelion is a bright spot beside the sun, made by ice in the air"}


def metrics_of(run):
    """Step and value of every metric, by name."""
    series = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = record.pop("step")
        for name, value in record.items():
            if name not in ("time", "nonfinite"):
                series.setdefault(name, []).append((step, numpy.float32(value)))
    return series


def shown_by_tensorboard(run):
    reader = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    reader.Reload()
    text = reader.Tensors("job/text_summary")[0].tensor_proto.string_val[0].decode()
    names = reader.Tags()["scalars"]
    return {n: [(e.step, numpy.float32(e.value)) for e in reader.Scalars(n)] for n in names}, text


def train(parhelion, directory, steps):
    job = str(directory / "job.toml")
    subprocess.run([parhelion, "train", job, "--set", f"schedule.steps={steps}"], check=True, stdout=subprocess.DEVNULL)


def main(parhelion, model):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "job.toml").write_text(JOB.format(model=model))
        (directory / "text.jsonl").write_text(json.dumps(TEXT) + "\n")
        run = directory / "run"
        train(parhelion, directory, 6)
        shutil.rmtree(run / "checkpoints" / "step-00000006")
        train(parhelion, directory, 8)
        expected = metrics_of(run)
        shown, text = shown_by_tensorboard(run)
        assert [step for step, _ in expected["loss"]] == list(range(1, 9)), expected["loss"]
        assert [step for step, _ in expected["evaluation/loss"]] == [0, 3, 6, 8], expected["evaluation/loss"]
        assert len({value for _, value in expected["loss"]}) == 8, "the loss has to move for this to be a test"
        assert shown == expected, f"TensorBoard shows\n{shown}\nmetrics.jsonl has\n{expected}"
        assert "| optimizer.lr | 0.01 |" in text, text


main(*sys.argv[1:])

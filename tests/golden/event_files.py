"""Writes event files with the writer of the `tensorboard` package, which tests/train/track compares
byte for byte with ours, and reads them back with its reader: a run of four steps, and one that goes
on from step 2.

    python tests/golden/event_files.py        # pip install tensorboard
"""

import pathlib
import shutil
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "train"
TEXT = """| key | value |
|---|---|
| optimizer.lr | 0.001 |
| optimizer.kind | "adamw" |
| lora.targets | "a\\|b" |
"""


def version(time):
    return event_pb2.Event(wall_time=time, file_version="brain.Event:2")


def start(time, step):
    log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    return event_pb2.Event(wall_time=time, step=step, session_log=log)


def text(time):
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(dtype="DT_STRING", tensor_shape=shape, string_val=[TEXT.encode()])
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    value = summary_pb2.Summary.Value(
        tag="job/text_summary", metadata=summary_pb2.SummaryMetadata(plugin_data=plugin), tensor=tensor)
    return event_pb2.Event(wall_time=time, summary=summary_pb2.Summary(value=[value]))


def scalars(time, step, **values):
    summary = [summary_pb2.Summary.Value(tag=k.replace("__", "/"), simple_value=v) for k, v in values.items()]
    return event_pb2.Event(wall_time=time, step=step, summary=summary_pb2.Summary(value=summary))


FIRST = [version(1735689600.5), start(1735689600.5, 0), text(1735689600.5)] + [
    scalars(1735689601.0, 0, loss=2.5, lr=0.0),
    scalars(1735689602.0, 1, loss=2.25, lr=0.001),
    scalars(1735689603.0, 2, loss=7.0, lr=0.001),
    scalars(1735689604.0, 300, lr=0.001, evaluation__loss=1e-3),  # its loss is not a number
]
RESUMED = [version(1735689000.25), start(1735689000.25, 2), scalars(1735689000.5, 2, loss=2.0)]


def write(path, events):
    with open(path, "wb") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())


def read(files):
    """What TensorBoard shows of a directory with these files."""
    with tempfile.TemporaryDirectory() as directory:
        for number, file in enumerate(files):
            shutil.copy(file, pathlib.Path(directory) / f"events.out.tfevents.{number:010}.parhelion")
        reader = EventAccumulator(directory)
        reader.Reload()
        text = reader.Tensors("job/text_summary")[0].tensor_proto.string_val[0].decode()
        return {tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}, text


def main():
    DATA.mkdir(parents=True, exist_ok=True)
    first, resumed = DATA / "first.tfevents", DATA / "resumed.tfevents"
    write(first, FIRST)
    write(resumed, RESUMED)
    shown, shown_text = read([first])
    assert shown["loss"] == [(0, 2.5), (1, 2.25), (2, 7.0)], shown
    assert [step for step, _ in shown["lr"]] == [0, 1, 2, 300], shown
    assert [step for step, _ in shown["evaluation/loss"]] == [300], shown
    assert shown_text == TEXT, shown_text
    shown, shown_text = read([first, resumed])
    assert shown["loss"] == [(0, 2.5), (1, 2.25), (2, 2.0)], shown
    assert [step for step, _ in shown["lr"]] == [0, 1], shown
    assert shown.get("evaluation/loss", []) == [], shown
    assert shown_text == TEXT, shown_text
    print("written and read back:", first, resumed)


main()

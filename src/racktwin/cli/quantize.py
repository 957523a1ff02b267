"""`racktwin quantize`: a checkpoint in NVFP4, what it costs, and what a checkpoint holds."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import Parameter

SCHEMA = "racktwin/quantize/1"
QUIET = Parameter(show_default=False)
UNFIT = 1
INTERRUPTED = 130


def quantize(
    source: str,
    target: str | None = None,
    *,
    format: Annotated[str | None, QUIET] = None,
    layout: Annotated[str | None, QUIET] = None,
    exclude: Annotated[list[str] | None, QUIET] = None,
    calibration: Annotated[str | None, QUIET] = None,
    input_scales: Annotated[str | None, QUIET] = None,
    inspect: Annotated[bool, QUIET] = False,
    reference: Annotated[str | None, QUIET] = None,
    compare: Annotated[str | None, QUIET] = None,
    report: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Write a checkpoint in NVFP4, or say what one holds and what formats would cost it.

    racktwin quantize Llama-3.1-8B Llama-3.1-8B-NVFP4
    racktwin quantize Llama-3.1-8B --compare nvfp4,mxfp4,fp8_block --report formats.html

    Quantized are matrices of linear layers; output head, embeddings, norms, routers, convolutions
    and weights of more axes stay. The same command goes on where it was stopped.

    Exit code: 0 fine, 1 the inspected checkpoint is unfit, 2 bad input.

    Parameters
    ----------
    source
        A safetensors file or a folder of them: bf16, fp16, fp32, or FP8 as DeepSeek ships it.
    target
        The folder to write.
    format
        nvfp4, the default.
    layout
        Names and configs as modelopt (default) or compressed-tensors has them.
    exclude
        Modules that stay as they are: "*.self_attn.*"; may be given again.
    calibration
        A block's scale from its largest value (max, default), or of least squared error (mse).
    input_scales
        File of activation scales of every quantized module; weight-only without.
    inspect
        Say what SOURCE holds, and whether its scales are sound.
    reference
        With --inspect: the checkpoint that errors are measured against.
    compare
        Formats to compare on these weights: nvfp4,mxfp4,mxfp8,fp8,fp8_block.
    report
        Write the errors into this file, a page with charts.
    json
        Print JSON (schema racktwin/quantize/1) instead of a screen.
    """
    given = {"--format": format, "--layout": layout, "--exclude": exclude,
             "--calibration": calibration, "--input-scales": input_scales,
             "--reference": reference, "--report": report, "--compare": compare}  # fmt: skip
    return _run(
        source, target, inspect, {key: e for key, e in given.items() if e is not None}, json
    )


FLAGS = {
    "TARGET": {"--format", "--layout", "--exclude", "--calibration", "--input-scales", "--report"},
    "--inspect": {"--reference"},
    "--compare": {"--exclude", "--calibration", "--report"},
}


def _run(source: str, target: str | None, inspect: bool, given: dict[str, Any], json: bool) -> int:
    """One of three things is done; flags of the others are refused."""
    from racktwin.finding import BadInput, Finding

    wanted = {"TARGET": target is not None, "--inspect": inspect, "--compare": "--compare" in given}
    asked = [name for name, is_asked in wanted.items() if is_asked]
    found = []
    if len(asked) != 1:
        text = "give one of a TARGET to write, --inspect and --compare; found "
        found.append(Finding("TARGET", text + (" and ".join(asked) or "none")))
    else:
        for flag in sorted(given.keys() - FLAGS[asked[0]] - {"--compare"}):
            other = " and ".join(name for name, flags in FLAGS.items() if flag in flags)
            found.append(Finding(flag, f"belongs to {other}, not to {asked[0]}"))
    if found:
        raise BadInput(found, "racktwin quantize")
    report = given.get("--report")
    if report is not None:
        _check_report(report)
    if inspect:
        return _inspect(source, given.get("--reference"), json)
    exclude, calibration = given.get("--exclude", []), given.get("--calibration", "max")
    if target is None:
        return _compare(source, given["--compare"], exclude, calibration, report, json)
    wish = (source, target, given.get("--format", "nvfp4"), given.get("--layout", "modelopt"),
            tuple(exclude), calibration, given.get("--input-scales"))  # fmt: skip
    return _convert(wish, report, json)


def _check_report(report: str) -> None:
    from racktwin.dashboard.chart_file import check_chart_file

    check_chart_file(report, "quantize", "--report")


def _convert(asked: tuple[Any, ...], report: str | None, json: bool) -> int:
    from racktwin.checkpoints import Wish, quantize_checkpoint
    from racktwin.checkpoints.answer import written
    from racktwin.cli import quantize_screen
    from racktwin.cli.bar import bar

    wish = Wish(**dict(zip(Wish.__struct_fields__, asked, strict=True)))
    try:
        with bar() as tell:
            done = quantize_checkpoint(wish, tell)
    except KeyboardInterrupt:
        text = f"{wish.target} keeps its whole shards: the same command goes on"
        print(f"interrupted; {text}", file=sys.stderr)
        return INTERRUPTED
    lines = _report(report, {"nvfp4": done.deviations}, {}, f"{wish.source} in NVFP4")
    _show(written(done), [*quantize_screen.written(done, wish.source, wish.target), *lines], json)
    return 0


def _compare(
    source: str, formats: str, exclude: list[str], calibration: Any, report: str | None, json: bool
) -> int:
    from racktwin.checkpoints import open_checkpoint
    from racktwin.checkpoints.answer import compared
    from racktwin.checkpoints.comparison import compare
    from racktwin.checkpoints.encoder import is_encoder, similarities
    from racktwin.cli import quantize_screen
    from racktwin.cli.bar import bar

    names = [name.strip() for name in formats.split(",")]
    with open_checkpoint(source) as found, bar() as tell:
        answer = compare(found, names, exclude, calibration, tell)
        cosines = {}
        if is_encoder(found):
            tell(0, 1, "sentences")
            cosines = similarities(found, list(answer.selection.chosen), names, calibration)
    lines = _report(report, answer.deviations, cosines, f"{source} in {', '.join(names)}")
    _show(compared(answer, cosines), [*quantize_screen.compared(answer, cosines), *lines], json)
    return 0


def _inspect(source: str, reference: str | None, json: bool) -> int:
    from racktwin.checkpoints import inspect, open_checkpoint
    from racktwin.checkpoints.answer import inspected
    from racktwin.cli import quantize_screen

    with open_checkpoint(source) as found:
        if reference is None:
            answer = inspect(found)
        else:
            with open_checkpoint(reference) as right:
                answer = inspect(found, right)
    _show(inspected(answer), quantize_screen.inspected(answer, source), json)
    return UNFIT if answer.faults else 0


def _report(target: str | None, seen: Any, cosines: Any, title: str) -> tuple[str, ...]:
    if target is None:
        return ()
    from racktwin.dashboard.chart_file import write_chart_file
    from racktwin.dashboard.error_report import error_report

    text = error_report(seen, cosines, title)
    return write_chart_file(target, text, "quantize", "--report")


def _show(answer: dict[str, Any], parts: Any, json: bool) -> None:
    from racktwin.cli.console import print_json, print_screen

    if json:
        print_json({"schema": SCHEMA, **answer})
    else:
        print_screen(parts)

"""Parts of the project that fill the context far more than others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.events import StepCompleted
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import read_files
from seamark_sidecar.observer.behaviour.file_roles import module_of
from seamark_sidecar.observer.behaviour.windows import keep_heaviest
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

# Times the session's average per file.
SPIKE = 3.0
LEAST_TOKENS = 2_000
LEAST_PER_FILE = 1_000
LEAST_FILES = 2
# Files read elsewhere, for an average to mean something.
LEAST_OTHERS = 4
MOST_MODULES = 128
MOST_NAMED = 8


@dataclass(slots=True)
class _Cost:
    step: int
    tokens: int = 0
    files: int = 0


class ContextTokenSpike:
    """Shares what a step added to the context among the files read in it.

    A model call reports what it was sent, so what a step read shows in the next step's count.
    """

    def __init__(self) -> None:
        self._modules: dict[str, _Cost] = {}
        self._tokens = 0
        self._files = 0
        self._peak = 0
        self._input: int | None = None
        # Files read since the last completed step, and in the step before.
        self._reading: dict[str, None] = {}
        self._read: dict[str, None] = {}

    def see(self, moment: Moment) -> None:
        if isinstance(moment.body, StepCompleted):
            self._completed(moment.body, moment.step)
        elif moment.result is not None and len(self._reading) < MOST_NAMED:
            self._reading.update(dict.fromkeys(read_files(moment)[:MOST_NAMED]))

    def signals(self) -> Iterable[Signal]:
        for module, cost in self._modules.items():
            others = self._files - cost.files
            if cost.files < LEAST_FILES or others < LEAST_OTHERS or cost.tokens < LEAST_TOKENS:
                continue
            usual = max(1.0, (self._tokens - cost.tokens) / others)
            per_file = cost.tokens / cost.files
            if per_file > max(SPIKE * usual, LEAST_PER_FILE):
                yield self._signal(module, cost, per_file, usual)

    def size(self) -> int:
        return 250 * len(self._modules)

    def shrink(self) -> None:
        keep_heaviest(self._modules, 1, _tokens)

    def _completed(self, body: StepCompleted, step: int) -> None:
        before, read = self._input, self._read
        self._read, self._reading = self._reading, {}
        if body.input_tokens <= 0:
            return
        self._input = body.input_tokens
        self._peak = max(self._peak, body.input_tokens)
        # A context that shrank was compacted, and says nothing of what was read.
        if before is None or not read or body.input_tokens <= before:
            return
        added = body.input_tokens - before
        self._tokens += added
        self._files += len(read)
        for path in read:
            module = module_of(path)
            cost = self._modules.get(module)
            if cost is None:
                keep_heaviest(self._modules, MOST_MODULES, _tokens)
                cost = self._modules[module] = _Cost(step)
            cost.tokens += added // len(read)
            cost.files += 1

    def _signal(self, module: str, cost: _Cost, per_file: float, usual: float) -> Signal:
        return Signal(
            kind=SignalKind.CONTEXT_TOKEN_SPIKE,
            step=cost.step,
            confidence=0.6,
            key=finding_key("context_token_spike", module),
            details={
                "module": module,
                "tokens": cost.tokens,
                "files_read": cost.files,
                "tokens_per_file": round(per_file),
                "usual_tokens_per_file": round(usual),
                "peak_context_tokens": self._peak,
            },
            content=f"Reading in `{module}` costs about {per_file:.0f} tokens a file, "
            f"{per_file / usual:.1f} times what files cost elsewhere; read parts of them.",
            type=MemoryType.CONTEXT_COST,
        )


def _tokens(cost: _Cost) -> float:
    return cost.tokens

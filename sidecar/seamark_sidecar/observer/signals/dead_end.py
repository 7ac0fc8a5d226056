"""An approach that was pursued and given up."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seamark.events import StepCompleted, ToolCalled
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.surprise import Cause, Surprise
from seamark_sidecar.observer.calls.use import CHANGES, Action, ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.passages import Speaker, Utterance, files_about
from seamark_sidecar.observer.text.wording import (
    finding_key,
    one_line,
    paths_in,
    telling_words,
)

MOST_FOUND = 20
LONGEST_CONTENT = 600
LONGEST_FIELD = 300
# The structural form.
LEAST_STEPS = 20
LEAST_DIVERGENCE = 0.6
AFTER_STEPS = 20
MOST_FILES = 200
# Steps within which something was just tried, or told.
LATELY = 4
# An edit that takes back at least this share of the words that an earlier one wrote returns.
TAKEN_BACK = 0.6
LEAST_WORDS = 6
MOST_RECENT = 8

_APPROACH = (
    r"(?:approach|attempt|strategy|idea|solution|workaround|route|technique|design|architecture)"
)
_WORKS_NOT = (
    r"(?:just |simply |also |clearly |really |still )?(?:won['’]t|will not|does not|"
    r"doesn['’]t|did not|"
    r"didn['’]t|can['’]t|cannot|isn['’]t|is not|wasn['’]t|was not)"
    r"(?: actually| really| going to| quite)? (?:work|working|help|viable|feasible|possible|"
    r"sufficient|"
    r"the right)\b"
)
# Words of giving up on what was tried; each needs something tried before.
GIVES_UP = re.compile(
    rf"\b(?:this|that|the \w{{1,14}}|my|our|"
    rf"my \w{{1,14}})(?: \w{{1,14}})? {_APPROACH} {_WORKS_NOT}"
    rf"|\b{_APPROACH} (?:is|was) (?:\w{{1,12}} )?(?:flawed|wrong|a mistake|a dead[- ]end|"
    rf"fundamentally \w+|"
    r"too (?:complex|complicated|fragile|brittle|invasive|risky|hacky))\b"
    r"|\b(?:is|was|hit|be|reached|proved|proven) a dead[- ]end\b"
    rf"|\b(?:abandon(?:ing)?|giv(?:e|ing) up on|scrap(?:ping)?|ditch(?:ing)?) (?:this|that|"
    rf"the|my)"
    rf"(?: \w{{1,14}}){{0,2}} ?{_APPROACH}\b"
    r"|\bgoing (?:around )?in circles\b"
    rf"|\b(?:revert|undo|back out)(?:ing)? (?:this|that|the|my)(?: \w{{1,14}})? (?:whole |"
    rf"entire )?{_APPROACH}\b"
    rf"|\bthat {_WORKS_NOT}.{{0,80}}\b(?:different|another|alternative) {_APPROACH}\b",
    re.IGNORECASE,
)
# Words of turning to something else; they count when what was tried has just failed.
TURNS = re.compile(
    r"\b(?:let me|let['’]s|I(?:['’]ll| will| should| have to)?|we (?:should|need to)) "
    r"(?:try|take|use|think of|go with|switch to|find|do|need(?: to (?:try|use|find|take))?)"
    r"(?: \w{1,12})? (?:a |an )?"
    rf"(?:completely |totally |entirely )?(?:different|another|alternative|"
    rf"new) (?:\w{{1,12}} )?{_APPROACH}\b"
    rf"|\b(?:rethink|reconsider) (?:the|this|my|our)(?: \w{{1,14}})? {_APPROACH}\b"
    rf"|\b(?:my|the|this) (?:\w{{1,14}} )?(?:fix|change|changes) {_WORKS_NOT}"
    r"|\bstart(?:ing)? over\b",
    re.IGNORECASE,
)
_HINTS = frozenset(
    (
        "approach attempt strategy idea solution workaround route technique design architecture "
        "dead circles start starting fix change changes"
    ).split()
)
# Said of what others did, of what might be done, of a search, or of the code's own behaviour.
_NOT_OURS = re.compile(
    r"\b(?:if (?:this|that|it|the|I|we)|might|maybe|may|could|would|do you|you|user|they|someone|"
    r"alternatively|option [A-Z0-9]|pros|cons|sed|grep|search\w*|find (?:the|these|this|it|"
    r"where)|locate|"
    r"heredoc|escap\w+|quot\w+|view|read)\b|\?$",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:still|fail(?:s|ed|ing)?|cycle|conflicts?|cannot|can['’]t|wrong|broken|not working|"
    r"slow)\b|"
    r"n['’]t work",
    re.IGNORECASE,
)
_MECHANICS = re.compile(
    r"\b(?:sed|awk|cat|heredoc|grep|search(?:ing)?|tabs?|indentation|"
    r"script logic)\b",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"\b(?:because|since|as|due to|the (?:problem|issue) is)\b(?P<why>.{8,300})", re.IGNORECASE
)
_INSTEAD = re.compile(
    r"\b(?:instead|let me|let['’]s|I(?:['’]ll| will| should| need to| can)|we (?:should|can))\b",
    re.IGNORECASE,
)
_REVERTS = re.compile(
    r"\bgit (?:checkout (?:--|HEAD|\S+\.\w)|restore\b|stash\b(?! (?:list|show|pop|apply))|"
    r"reset --hard|revert\b)"
)


@dataclass(slots=True)
class _Return:
    """A way back to code that was worked on, waiting for what comes after it."""

    path: str
    step: int
    first_step: int
    before: tuple[str, ...]
    # What had been written there.
    words: frozenset[str]
    after: dict[str, None] = field(default_factory=dict)
    is_resumed: bool = False


class DeadEnd:
    """Hears an approach being given up, and sees one being undone."""

    def __init__(self) -> None:
        self._found: dict[str, Signal] = {}
        self._last_step = -LEAST_STEPS
        self._first_change = -1
        # What the agent did last, and the last failure it met.
        self._error = ""
        # For each changed file: the step of its first change, and the words written then.
        self._first_edit: dict[str, int] = {}
        self._written: dict[str, frozenset[str]] = {}
        # Files touched, with the step of the latest touch, the latest last.
        self._touched: dict[str, int] = {}
        self._returns: list[_Return] = []
        # What was written last, whatever the file.
        self._recent: deque[frozenset[str]] = deque(maxlen=MOST_RECENT)

    def see(self, moment: Moment) -> None:
        if isinstance(moment.body, StepCompleted):
            self._settle(moment.step)
            return
        use = moment.use
        if use is None:
            return
        if moment.result is None:
            if isinstance(moment.body, ToolCalled):
                self._look_back(use, moment)
            return
        if moment.result.failure is not None and moment.result.failure.error:
            self._error = moment.result.failure.error
        elif moment.result.failure is None:
            self._note(use, moment.step)

    def hear(self, utterance: Utterance, surprise: Surprise) -> None:
        if utterance.speaker is Speaker.PERSON or len(self._found) >= MOST_FOUND:
            return
        # One retreat is often told twice.
        if utterance.step - self._last_step < LATELY:
            return
        # Before anything was made for a while, there is nothing to give up.
        if not 0 <= self._first_change <= utterance.step - LATELY:
            return
        failed = surprise.lately(Cause.FAILURE, utterance.step)
        spoken = utterance.sentences
        for index, sentence in enumerate(spoken):
            if utterance.words[index].isdisjoint(_HINTS):
                continue
            before = () if failed else spoken[max(0, index - 3) : index]
            if abandons(sentence, has_failed=failed, before=before):
                content = _passage(spoken, index)
                # A retreat that names nothing helps nobody, and how to edit a file is no approach.
                if ("`" in content or paths_in(content)) and not _MECHANICS.search(content):
                    self._keep_said(utterance, index, content)
                return

    def signals(self) -> Iterable[Signal]:
        return sorted(self._found.values(), key=lambda each: each.step)

    def size(self) -> int:
        return 2000 * len(self._found) + 300 * len(self._touched) + 500 * len(self._written)

    def shrink(self) -> None:
        for path in list(self._written)[: len(self._written) // 2]:
            del self._written[path]

    def _keep_said(self, utterance: Utterance, index: int, content: str) -> None:
        spoken = utterance.sentences
        key = finding_key("dead_end", content)
        if key in self._found:
            return
        self._last_step = utterance.step
        after = next((s for s in spoken[index + 1 : index + 4] if _INSTEAD.search(s)), "")
        why = _WHY.search(content)
        self._found[key] = Signal(
            kind=SignalKind.DEAD_END,
            type=MemoryType.DEAD_END,
            content=content,
            key=key,
            files=files_about(content, utterance.in_sight),
            step=utterance.step,
            confidence=0.8,
            surprise=max(0.4, utterance.surprise),
            details={
                "form": "said",
                "approach": (spoken[index - 1] if index else spoken[index])[:LONGEST_FIELD],
                "why": (why["why"].strip(" ,.:") if why else self._error)[:LONGEST_FIELD],
                "alternative": after[:LONGEST_FIELD],
            },
        )

    def _look_back(self, use: ToolUse, moment: Moment) -> None:
        """Whether this call undoes what was worked on for long."""
        step = moment.step
        for path in self._undone(use):
            first = self._first_edit.get(path, step)
            if step - first >= LEAST_STEPS and len(self._returns) < MOST_FOUND:
                before = tuple(
                    p for p, last in self._touched.items() if last >= first and p != path
                )
                words = self._written.get(path, frozenset())
                if not any(_is_same(words, written) for written in self._recent):
                    self._returns.append(_Return(path, step, first, before, words))
                del self._first_edit[path]

    def _undone(self, use: ToolUse) -> list[str]:
        if use.action not in CHANGES and use.command and _REVERTS.search(use.command):
            return [path for path in self._first_edit if path in use.command or path in use.changed]
        undone = []
        for touch in use.touches:
            written = self._written.get(touch.path)
            if touch.action is Action.EDIT and written and touch.replaced:
                gone = written.intersection(telling_words(touch.replaced))
                if len(gone.difference(telling_words(use.written))) >= TAKEN_BACK * len(written):
                    undone.append(touch.path)
        return undone

    def _note(self, use: ToolUse, step: int) -> None:
        if use.action in CHANGES or use.changed:
            self._see_whether_moved(use)
            if self._first_change < 0:
                self._first_change = step
        for touch in use.touches:
            self._touched.pop(touch.path, None)
            self._touched[touch.path] = step
            if touch.action in CHANGES and touch.path not in self._first_edit:
                self._first_edit[touch.path] = step
                words = frozenset(telling_words(use.written))
                if len(words) >= LEAST_WORDS:
                    self._written[touch.path] = words
            for each in self._returns:
                if touch.path != each.path:
                    each.after[touch.path] = None
                elif touch.action in CHANGES and step > each.step:
                    each.is_resumed = True
        while len(self._touched) > MOST_FILES:
            oldest = next(iter(self._touched))
            del self._touched[oldest]
            self._first_edit.pop(oldest, None)
            self._written.pop(oldest, None)

    def _see_whether_moved(self, use: ToolUse) -> None:
        """What is written again elsewhere was not given up."""
        if not use.written:
            return
        written = frozenset(telling_words(use.written))
        self._recent.append(written)
        for each in self._returns:
            each.is_resumed |= _is_same(each.words, written)

    def _settle(self, step: int) -> None:
        for each in [each for each in self._returns if step - each.step > AFTER_STEPS]:
            self._returns.remove(each)
            if each.is_resumed:
                continue
            if divergence(each.before, tuple(each.after)) > LEAST_DIVERGENCE:
                self._keep_seen(each)

    def _keep_seen(self, each: _Return) -> None:
        if len(self._found) >= MOST_FOUND:
            return
        after = ", ".join(f"`{path}`" for path in list(each.after)[:3])
        content = (
            f"Work on `{each.path}` was undone after {each.step - each.first_step} steps; "
            f"the session went on with {after}."
        )
        key = finding_key("dead_end", content)
        self._found[key] = Signal(
            kind=SignalKind.DEAD_END,
            type=MemoryType.DEAD_END,
            content=content,
            key=key,
            files=(each.path, *list(each.after)[:3]),
            step=each.step,
            confidence=0.6,
            surprise=0.4,
            details={
                "form": "seen",
                "approach": f"changes to {each.path} from step {each.first_step}",
                "why": self._error[:LONGEST_FIELD],
                "alternative": after,
                "divergence": round(divergence(each.before, tuple(each.after)), 3),
            },
        )


def abandons(sentence: str, *, has_failed: bool, before: Sequence[str] = ()) -> bool:
    """Whether the agent gives up what it had tried.

    Args:
        has_failed: It just went wrong.
        before: What was said just before, which may tell of trouble too.
    """
    # In the order of how seldom they fit, since all three are costly.
    if not GIVES_UP.search(sentence):
        if not TURNS.search(sentence):
            return False
        if not has_failed and not any(map(_TROUBLE.search, before)):
            return False
    return not _NOT_OURS.search(sentence)


def divergence(before: Sequence[str], after: Sequence[str]) -> float:
    """How much the files of two phases of work differ, from 0 to 1; 0 when a phase has none."""
    if not before or not after:
        return 0.0
    return 1 - len(set(before) & set(after)) / max(len(set(before)), len(set(after)))


def _is_same(old: frozenset[str], new: frozenset[str]) -> bool:
    return len(old) >= LEAST_WORDS and len(old & new) >= TAKEN_BACK * len(old)


def _passage(spoken: Sequence[str], index: int) -> str:
    """The sentence with the one before, which says of what, and those after, which say why."""
    content = spoken[index]
    if index and len(content) + len(spoken[index - 1]) < LONGEST_CONTENT:
        content = f"{spoken[index - 1]} {content}"
    for following in spoken[index + 1 : index + 3]:
        if len(content) + len(following) >= LONGEST_CONTENT:
            break
        content = f"{content} {following}"
    return one_line(content)[:LONGEST_CONTENT]

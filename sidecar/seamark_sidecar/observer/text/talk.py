"""Sentences that say nothing about the project: plans, self-talk, requests, reports of deeds."""

from __future__ import annotations

import re

LEAST_WORDS = 5
MOST_BARS = 2  # A row of a table has more.

_FIRST_PERSON = frozenset("i i'm i'll i've i'd my me myself".split())
_GUESSES = frozenset(
    "maybe perhaps might possibly probably presumably hopefully guess wonder hmm".split()
)
# With one of these an instruction is a rule that holds beyond the task, or gives its reason.
_STANDING = frozenset(
    """
    never always don't whenever otherwise because unless instead every before
    """.split()
)
# With one of these a sentence that begins with a deed goes on to say something of it.
_FINITE = frozenset(
    """
    requires needs must breaks fails means causes leaves does doesn't is isn't are aren't will
    won't only cannot
    """.split()
)
# Of a person who speaks to the agent.
_ASKING = re.compile(
    r"\b(?:you|your|please|should|must|wants?|needs?|ha(?:ve|s) to|let['’]s|would like)\b",
    re.IGNORECASE,
)
_REPORTING = frozenset(
    "memory memories remembered note notes noted mentioned recorded seamark".split()
)

# What people put before a sentence, and what the sentence does without.
_CALL = re.compile(
    r"(?:(?:wait|ah+|aha|oh+|hm+|ok|okay|yes|yeah|yep|no|right|well|alright|perfect|great|"
    r"excellent|good|nice|interesting|interestingly|indeed|exactly|correct|done|fixed)"
    r"(?:[,.!:;]|\.{2,3}| [-\u2013\u2014])\s{1,3}){1,4}",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"(?:(?:so|but|and|also|now|then|thus|hence|therefore|however|actually|basically|essentially|"
    r"similarly|additionally|furthermore|moreover|in fact|for example|as a result|this means|"
    r"that means|which means|turns out|it turns out|note|importantly|specifically|finally|first|"
    r"second|next)(?: that\b)?[,:]?\s{1,3}){1,3}",
    re.IGNORECASE,
)
_SEEING = re.compile(
    r"(?:now )?I (?:can |could )?(?:now |also |just )?"
    r"(?:see|found|find|noticed|notice|realized|realised|realize|discovered|learnt|learned|"
    r"confirmed)(?: out)? (?:now )?that |(?:now )?looking at [^,.]{1,60}, ",
    re.IGNORECASE,
)
_OPENING = (
    r"(?:(?:now|so|first|next|then|also|but|and|finally|actually|since|therefore)[,:]? ){0,2}"
)
_PLAN = re.compile(
    _OPENING + r"(?:let(?:['’]s| me| us)\b"
    r"|(?:i|we)(?:['’](?:ll|d|m)\b| (?:will|should|need|want|"
    r"can(?!['’n])|could(?!n)|am|would|shall|"
    r"might|must|have to|think|guess|wonder|hope|plan|may|suspect|believe|assume)\b)"
    r"|(?:if|when|since|because|as|while|once|before|after|what if|even if) (?:i|what)\b"
    r"|(?:time to|to do this|to be safe|here(?:['’]s| is| are)|"
    r"how|what|why|where|there we|you(?:['’]re| can| could|"
    r" might| may)|would you|do you|shall|based on)\b"
    r"|the (?:user|person|pr|task|issue|prompt|request|description|instructions?|statement|"
    r"docstring|plan|goal|hint|proposal|next step|todo)s? (?:\w{1,12} ){0,2}?"
    r"(?:ask\w{0,3}|wants?|wanted|says?|said|mention\w{0,3}|request\w{0,3}|describ\w{1,3}|"
    r"suggest\w{0,3}|explicitly|is to|is asking)\b)",
    re.IGNORECASE,
)
# Looking for something teaches nothing; doing something may be a rule.
_LOOKING = re.compile(
    _OPENING + r"(?:check(?:ing)?|verify(?:ing)?|look(?:ing)?|find(?:ing)?|see|understand(?:ing)?|"
    r"explor(?:e|ing)|review(?:ing)?|investigat(?:e|ing)|search(?:ing)?|confirm(?:ing)?|"
    r"consider(?:ing)?|continu(?:e|ing)|proceed(?:ing)?|try(?:ing)?|locat(?:e|ing)|"
    r"identify(?:ing)?|determine|examin(?:e|ing)|inspect(?:ing)?|read(?:ing)?)\s",
    re.IGNORECASE,
)
_DOING = re.compile(
    _OPENING + r"(?:add(?:ing)?|updat(?:e|ing)|creat(?:e|ing)|remov(?:e|ing)|delet(?:e|ing)|"
    r"run(?:ning)?|fix(?:ing)?|writ(?:e|ing)|implement(?:ing)?|modify(?:ing)?|chang(?:e|ing)|"
    r"replac(?:e|ing)|renam(?:e|ing)|mov(?:e|ing)|refactor(?:ing)?|ensur(?:e|ing)|"
    r"mak(?:e|ing)|test(?:ing)?|start(?:ing)?|import(?:ing)?|install(?:ing)?|commit(?:ting)?|"
    r"push(?:ing)?|mark(?:ing)?|keep(?:ing)?|revert(?:ing)?|extend(?:ing)?|handl(?:e|ing)|"
    r"pars(?:e|ing)|extract(?:ing)?|defin(?:e|ing)|show(?:ing)?|print(?:ing)?|call(?:ing)?|"
    r"set(?:ting)?|us(?:e|ing)|pass(?:ing)?|build(?:ing)?|merg(?:e|ing)|apply(?:ing)?|"
    r"insert(?:ing)?|introduc(?:e|ing)|simplify(?:ing)?|support(?:ing)?|return(?:ing)?|"
    r"convert(?:ing)?|prevent(?:ing)?|avoid(?:ing)?|allow(?:ing)?|document(?:ing)?|"
    r"compar(?:e|ing)|collect(?:ing)?|generat(?:e|ing)|track(?:ing)?|store|storing|"
    r"load(?:ing)?|wrap(?:ping)?|split(?:ting)?|do|get|give|put|go|ask|tell)\s",
    re.IGNORECASE,
)
_DEED = re.compile(
    _OPENING + r"(?:(?:i|we)(?:['’]ve| have)? (?:now |also |just |already |successfully )?)?"
    r"(?:added|updated|fixed|created|removed|changed|modified|implemented|verified|refactored|"
    r"renamed|moved|replaced|wrote|tested|confirmed|ran|successfully|extracted|"
    r"introduced|reproduced|applied|all (?:the )?(?:\d{1,5} )?tests|"
    r"the tests? (?:now )?pass\w{0,2}|"
    r"tests? (?:all |now )?pass\w{0,2})\b",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    _OPENING + r"(?:(?:this|that|it|everything|all|which|the \w{1,20}|my \w{1,20})(?: \w{1,12})? "
    r"(?:now )?(?:looks?|seems?|makes?|works?|sounds?|is|are|was|were|behaves?) "
    r"(?:\w{1,12} ){0,2}?(?:good|correct|correctly|fine|sense|great|perfect|as expected|ok|okay|"
    r"clean|promising|working|passing|confirmed|successful|done|complete)\b"
    r"|(?:looks|sounds|makes|works|good|great|perfect|excellent|correct|verified|done|understood|"
    r"sure|thanks|absolutely|got it|nice|summary|of course|wait|hmm)\b)",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:earlier|previous|prior|past|saved|stored|injected) (?:notes?|memor(?:y|ies))\b"
    r"|\b(?:notes?|memor(?:y|ies)) (?:\w{1,12} )?(?:says?|said|tells?|told|mentions?|mentioned|"
    r"states?|reminds?|warns?|warned)\b"
    r"|\bas (?:was )?(?:noted|mentioned|recorded|remembered)\b"
    r"|\b(?:according to|from|using|per|in) (?:the |my |our )?(?:project )?"
    r"memor(?:y|ies) (?:of|i|we)\b"
    r"|\baccording to (?:the |my |our |an? )?(?:memor(?:y|ies)|notes?)\b"
    r"|\bseamark(?:['’]s)? (?:memor(?:y|ies)|notes?|says?|said|block|told|warns?)\b",
    re.IGNORECASE,
)
_NO_SENTENCE = ("|", "[ ]", "[x]", "[X]", '"', "\u201c", "<", "{", "$ ", "- [")
_DECORATION = "\u2705\u274c\u26a0\ufe0f\u2713\u2717\u2022\u2192\u27a1 \t*#>-"
_NUMBERING = re.compile(r"(?:\d{1,6}(?:\u2192|\s?\||\.\s|\)\s)|\(\d{1,4}\)\s)\s{0,8}")
# It speaks of what was said before it.
_LEANING = re.compile(
    r"(?:this|that|it|its|these|those|they|their|them|such|he|which|same|both|either|neither|"
    r"otherwise|instead|one|another|here|there|the (?:same|latter|former|above|other|second|"
    r"following|first))\b",
    re.IGNORECASE,
)


def tidy(sentence: str) -> str:
    """The sentence without marks of lists and emphasis and without calls before it."""
    text = sentence.lstrip(_DECORATION)
    number = _NUMBERING.match(text)
    if number is not None:
        text = text[number.end() :].lstrip(_DECORATION)
    text = text.replace("**", "")
    call = _CALL.match(text)
    if call is not None:
        text = text[call.end() :]
    seeing = _SEEING.match(text)
    if seeing is not None:
        text = text[seeing.end() :]
    return _capital(text.strip())


def standing_alone(sentence: str) -> str:
    """The tidy sentence without what ties it to the one before."""
    tie = _CONNECTIVE.match(sentence)
    return sentence if tie is None else _capital(sentence[tie.end() :])


def closed(sentence: str) -> str:
    """With a full stop, if nothing else ends it."""
    return sentence if sentence.endswith((".", "!", "?", "…")) else sentence.rstrip(",;:") + "."


def leans(sentence: str) -> bool:
    """Whether one has to know what was said before it."""
    return _LEANING.match(sentence) is not None


def is_talk(sentence: str, words: frozenset[str]) -> bool:
    """Whether a tidy sentence says what its speaker does, wants or feels, or is none at all.

    Args:
        words: Its words in lower case.
    """
    if len(words) < LEAST_WORDS or not words.isdisjoint(_GUESSES):
        return True
    if sentence.endswith(("?", ":")) or sentence.startswith(_NO_SENTENCE):
        return True
    # Half a code quote is half a sentence.
    if sentence.count("|") > MOST_BARS or sentence.count("`") % 2:
        return True
    if not words.isdisjoint(_FIRST_PERSON):
        return True
    if _PLAN.match(sentence) or _APPROVAL.match(sentence):
        return True
    if _LOOKING.match(sentence):
        return True
    doing = _DOING.match(sentence)
    if doing is not None:
        # "Running it needs a network" states something; "Run it, which needs one" is a plan.
        is_subject = doing.group().rstrip().endswith("ing")
        return words.isdisjoint(_FINITE if is_subject else _STANDING)
    return not words.isdisjoint(_REPORTING) and _REPORT.search(sentence) is not None


def is_deed(sentence: str) -> bool:
    """Whether it reports what was done."""
    return _DEED.match(sentence) is not None


def is_request(sentence: str, words: frozenset[str]) -> bool:
    """Whether a person asks for something here, rather than say what holds."""
    return words.isdisjoint(_STANDING) and _ASKING.search(sentence) is not None


def _capital(text: str) -> str:
    """With a capital letter, unless it begins with a name."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text

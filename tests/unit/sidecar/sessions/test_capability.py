"""The right to write to a session."""

from seamark_sidecar.sessions import capability

CLAIM = b"0123456789abcdef"


def test_the_same_claim_gives_the_same_right():
    assert capability.derive("s1", CLAIM) == capability.derive("s1", CLAIM)


def test_another_claim_or_another_session_gives_another_right():
    rights = {
        capability.derive(session, claim)
        for session in ("s1", "s2")
        for claim in (CLAIM, CLAIM[::-1])
    }
    assert len(rights) == 4


def test_only_the_right_itself_opens_what_it_sealed():
    right = capability.derive("s1", CLAIM)
    sealed = capability.seal(right)
    assert capability.opens(right, sealed)
    for wrong in (b"", right[:-1], right + b"\0", sealed, CLAIM):
        assert not capability.opens(wrong, sealed)


def test_what_is_stored_does_not_give_the_right_away():
    right = capability.derive("s1", CLAIM)
    assert right not in capability.seal(right)
    assert not capability.opens(right, b"")

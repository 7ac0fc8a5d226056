"""Recorded sessions for tests, with things in them that are noticed."""

import json

ERROR = "Traceback (most recent call last):\n  File 'cart.py', line {line}\nKeyError: 'price'"


def session(name, steps=12, first=3):
    """A session in the neutral form whose steps are numbered from `first`."""
    events = [{"type": "user", "step": first - 1, "text": "Fix the rounding bug in the cart."}]
    for number in range(steps):
        step = first + number
        command = ("cat shop/cart.py", "grep -rn price shop", "python -m pytest tests -q")[
            number % 3
        ]
        failed = number % 3 == 2 and number < steps - 2
        events += [
            {"type": "step", "step": step},
            {"type": "reasoning", "step": step, "text": f"Now step {number} of {name}."},
            {"type": "tool_call", "step": step, "tool": "Bash", "args": {"command": command}},
            {
                "type": "tool_result",
                "step": step,
                "result": ERROR.format(line=number) if failed else "1 passed in 0.1s",
                "is_error": failed,
            },
        ]
    events.append(
        {
            "type": "reasoning",
            "step": first + steps,
            "text": "I was wrong about the cart: I assumed that prices are euros, but shop/cart.py "
            "actually keeps them in cents.",
        }
    )
    return {"session_id": name, "repo": "acme/shop", "task": "Fix the cart.", "events": events}


def write(directory, *sessions):
    """Writes each into a file of its own; returns the directory."""
    directory.mkdir(exist_ok=True)
    for each in sessions:
        (directory / f"{each['session_id']}.json").write_text(json.dumps(each))
    return directory

"""Memory for agents made with `langchain.agents.create_agent`."""

from __future__ import annotations

try:
    from seamark_langgraph.middleware import SeamarkMiddleware
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] in {"langchain", "langchain_core", "langgraph"}:
        raise ImportError(
            f"seamark_langgraph needs LangChain and LangGraph ({missing}): "
            "pip install 'seamark[langgraph]'"
        ) from missing
    raise

__all__ = ["SeamarkMiddleware"]

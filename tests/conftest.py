"""How hard the property tests look: SEAMARK_HYPOTHESIS is fast, normal or slow.

No test starts a sidecar by accident: those that mean to switch it on themselves.
"""

import logging
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy: how long an example takes says nothing.
COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", COMMON, max_examples=40, stateful_step_count=30)
settings.register_profile("normal", COMMON, max_examples=300, stateful_step_count=50)
settings.register_profile("slow", COMMON, max_examples=3000, stateful_step_count=100)
os.environ["SEAMARK_AUTOSTART"] = "0"
# A shell that runs us in the background has it ignored, and our children would do so too.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.load_profile(os.environ.get("SEAMARK_HYPOTHESIS", "fast"))


@pytest.fixture(autouse=True)
def _our_logger_speaks():
    """Whatever a test before did to it, what we log can be seen."""
    logger = logging.getLogger("seamark")
    logger.disabled, logger.propagate = False, True
    logger.setLevel(logging.NOTSET)
    logging.disable(logging.NOTSET)

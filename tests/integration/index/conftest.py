"""A desk that every test of the index may use."""

import pytest

from tests.integration.index.desk import desk_at, install


@pytest.fixture
def data_dir(tmp_path):
    path = tmp_path / "data"
    path.mkdir(mode=0o700)
    install(path, "m1")
    return path


@pytest.fixture
async def desk(data_dir):
    async with desk_at(data_dir) as desk:
        yield desk

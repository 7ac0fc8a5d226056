"""The import-linter contract `may_import`: a list of what modules may import instead of may not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class MayImport(Contract):
    """Modules import only each other, the standard library and what is listed.

    Configuration options:
        - modules:     Packages or modules that keep the rule. Rooms not built yet are passed over.
        - may_import:  What else they may import directly, with everything inside it. (Optional.)
        - never:       Parts of that, or of the standard library, which they may not. (Optional.)
    """

    type_name = "may_import"

    modules = fields.ListField(subfield=fields.StringField())
    may_import = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    never = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        own, never = _names(self.modules), _names(self.never)
        allowed = (*own, *_names(self.may_import), *sys.stdlib_module_names)
        broken = [
            (importer, imported, line)
            for importer, imported, line in _imports(graph, own)
            if not _within(imported, allowed) or _within(imported, never)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported, line in check.metadata["broken"]:
            output.print_error(f"{importer} may not import {imported} (l.{line})", bold=False)
        output.new_line()


def _names(field: Any) -> tuple[str, ...]:
    # Fields become plain lists once import-linter has filled them.
    return tuple(field)


def _imports(graph: ImportGraph, packages: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    for importer in sorted(module for module in graph.modules if _within(module, packages)):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            details = graph.get_import_details(importer=importer, imported=imported)
            yield importer, imported, min(detail["line_number"] for detail in details)


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)

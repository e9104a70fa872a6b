"""All checks by name: functions of a tree that yield violations."""
import fields
import includes
import objects
import outside
import sizes
import vocabulary
import wording

CHECKS = {
    "includes_spelled": includes.spelled,
    "includes_allowed": includes.allowed,
    "includes_circular": includes.circular,
    "includes_used": includes.used,
    "threads": outside.touched("threads"),
    "files": outside.touched("files"),
    "environment": outside.touched("environment"),
    "invalid_status": outside.invalid,
    "tier_symbols": objects.tier_symbols,
    "wide_vectors": objects.wide_vectors,
    "exported_names": objects.exported_names,
    "vocabulary": vocabulary.vocabulary,
    "file_lines": sizes.file_lines,
    "function_lines": sizes.function_lines,
    "parameters": sizes.parameters,
    "columns": sizes.columns,
    "opening": wording.opening,
    "comments": wording.comments,
    "unfinished": wording.unfinished,
    "formatted": wording.formatted,
    "probe_fields": fields.probe_fields,
}

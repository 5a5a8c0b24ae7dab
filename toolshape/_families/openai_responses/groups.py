"""Merges groups of deferred tools."""

from toolshape._records.calls import JsonObject


def merge_groups(entries: list[JsonObject]) -> list[JsonObject]:
    """Merge the groups with the same name; the merged group takes the place of the first group."""
    groups: dict[str, JsonObject] = {}
    merged: list[JsonObject] = []
    for entry in entries:
        if entry.get("type") == "namespace":
            group = groups.setdefault(entry["name"], entry)
        else:
            group = entry
        if group is entry:
            merged.append(entry)
        else:
            group["description"] = group["description"] or entry["description"]
            group["tools"] += entry["tools"]
    return merged

"""Croissant metadata: the columns of a dataset's files as machine-readable JSON-LD.

The format is that of Croissant 1.0, https://docs.mlcommons.org/croissant/docs/croissant-spec.html
"""

from typing import Any

import pyarrow as pa

from .columns import COLUMN_MEANINGS, arrow_schema
from .folder import DESCRIPTION
from .schema import DatasetInfo

CROISSANT = "croissant.json"

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The JSON-LD context from the specification."""

FILES = "episodes"
"""Id of the set of files of episodes."""


def croissant(name: str, info: DatasetInfo) -> dict[str, Any]:
    """Metadata of the dataset with this name; they depend only on its description, not on its episodes."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": (
            f"Episodes of the Gymnasium environment {info.environment}, with observations, actions, rewards and the "
            f"probabilities that the actions were drawn with. {DESCRIPTION} describes the environment."
        ),
        "isLiveDataset": True,
        "distribution": [
            {
                "@type": "cr:FileSet",
                "@id": FILES,
                "name": FILES,
                "description": "One file per episode of T decisions, with T + 1 rows.",
                "encodingFormat": "application/x-parquet",
                "includes": "episode-*.parquet",
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "steps",
                "name": "steps",
                "description": "A row for each decision, and one for the observation that ended the episode.",
                "field": [_field(column) for column in arrow_schema(info)],
            }
        ],
    }


def _field(column: pa.Field) -> dict[str, Any]:
    kind = column.type
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind)
    described = {
        "@type": "cr:Field",
        "@id": f"steps/{column.name}",
        "name": column.name,
        "description": COLUMN_MEANINGS[column.name],
        "dataType": _data_type(kind.value_type if is_list else kind),
        "source": {"fileSet": {"@id": FILES}, "extract": {"column": column.name}},
    }
    return {**described, "repeated": True} if is_list else described


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"

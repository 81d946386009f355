"""Descriptions: the docstrings below the fields of tables, for JSON Schemas and errors."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from itertools import pairwise

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema


@functools.cache
def descriptions(table: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings of the fields of a table, by the keys that a file has them under."""
    found = {}
    for owner in reversed(table.__mro__[: table.__mro__.index(BaseModel)]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in pairwise(body.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
            ):
                key = table.model_fields[field.target.id].alias or field.target.id
                found[key] = inspect.cleandoc(ast.literal_eval(text.value))
    return found


class DescribedSchema(GenerateJsonSchema):
    """JSON Schemas with the docstrings of fields as their descriptions."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a table."""
        found = super().model_schema(schema)
        table: type[BaseModel] = schema["cls"]
        for key, text in descriptions(table).items():
            found["properties"][key]["description"] = text
        return found

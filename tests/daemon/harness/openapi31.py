"""What an OpenAPI 3.1 document looks like."""

# OpenAPI 3.1 as far as the document uses it: what must be there, and nothing
# that has no meaning there.
STRUCTURE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["openapi", "info", "paths", "components"],
    "additionalProperties": False,
    "properties": {
        "openapi": {"const": "3.1.0"},
        "info": {
            "type": "object",
            "required": ["title", "version"],
            "properties": {
                name: {"type": "string", "minLength": 1}
                for name in ("title", "version", "description")
            },
            "additionalProperties": False,
        },
        "servers": {
            "type": "array",
            "items": {"required": ["url"], "properties": {"url": {"type": "string"}}},
        },
        "paths": {
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {
                "type": "object",
                "propertyNames": {"enum": ["get", "post", "put", "patch", "delete"]},
                "additionalProperties": {"$ref": "#/$defs/operation"},
            },
        },
        "components": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "schemas": {"$ref": "#/$defs/schemas"},
                "headers": {"additionalProperties": {"$ref": "#/$defs/header"}},
                "securitySchemes": {
                    "additionalProperties": {
                        "required": ["type", "scheme"],
                        "properties": {
                            "type": {"const": "http"},
                            "scheme": {"enum": ["bearer", "basic"]},
                        },
                    }
                },
            },
        },
    },
    "$defs": {
        "schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        "schemas": {
            "type": "object",
            "propertyNames": {"pattern": r"^[A-Za-z0-9._-]+$"},
            "additionalProperties": {"$ref": "#/$defs/schema"},
        },
        "operation": {
            "type": "object",
            "required": ["operationId", "summary", "responses", "security"],
            "additionalProperties": False,
            "properties": {
                "operationId": {"type": "string", "pattern": "^[a-z][A-Za-z]+$"},
                "summary": {"type": "string", "minLength": 1},
                "description": {"type": "string", "minLength": 1},
                "parameters": {
                    "type": "array",
                    "items": {"$ref": "#/$defs/parameter"},
                },
                "requestBody": {
                    "type": "object",
                    "required": ["content"],
                    "additionalProperties": False,
                    "properties": {
                        "required": {"type": "boolean"},
                        "content": {"$ref": "#/$defs/content"},
                    },
                },
                "responses": {
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^([1-5][0-9][0-9]|default)$"},
                    "additionalProperties": {"$ref": "#/$defs/response"},
                },
                "security": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": {"type": "array"},
                    },
                },
            },
        },
        "parameter": {
            "type": "object",
            "required": ["name", "in", "schema"],
            "additionalProperties": False,
            "properties": {
                "name": {"type": "string"},
                "in": {"enum": ["path", "query", "header"]},
                "description": {"type": "string"},
                "required": {"type": "boolean"},
                "schema": {"$ref": "#/$defs/schema"},
            },
            "if": {"properties": {"in": {"const": "path"}}},
            "then": {"required": ["required"], "properties": {"required": {"const": True}}},
        },
        "header": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "description": {"type": "string"},
                "schema": {"$ref": "#/$defs/schema"},
                "$ref": {"type": "string", "pattern": "^#/components/headers/"},
            },
        },
        "response": {
            "type": "object",
            "required": ["description"],
            "additionalProperties": False,
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "headers": {"additionalProperties": {"$ref": "#/$defs/header"}},
                "content": {"$ref": "#/$defs/content"},
            },
        },
        "content": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[a-z]+/[a-z.+-]+$"},
            "additionalProperties": {
                "type": "object",
                "required": ["schema"],
                "additionalProperties": False,
                "properties": {"schema": {"$ref": "#/$defs/schema"}, "example": True},
            },
        },
    },
}

"""SARIF 2.1.0 as types: what may stand where, by the schema that OASIS publishes with errata 01.

The objects that a finding is read from are checked property by property, and no others are allowed in them,
as in the schema. What is carried beside them (graphs, threads, web requests, taxonomies…) is checked to be
an object or a list of objects and not read; the published schema itself (``sarif.schema``) checks it.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

type Bag = dict[str, Any]
type Bags = list[dict[str, Any]]
Index = Annotated[int, Meta(ge=-1)]
Place = Annotated[int, Meta(ge=1)]
Length = Annotated[int, Meta(ge=0)]
Rank = Annotated[float, Meta(ge=-1, le=100)]
Language = Annotated[str, Meta(pattern="^[a-zA-Z]{2}(-[a-zA-Z]{2})?$")]
Level = Literal["none", "note", "warning", "error"]
Guid = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-5][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
    ),
]


Role = Literal[
    "analysisTarget",
    "attachment",
    "responseFile",
    "resultFile",
    "standardStream",
    "tracedFile",
    "unmodified",
    "modified",
    "added",
    "deleted",
    "renamed",
    "uncontrolled",
    "driver",
    "extension",
    "translation",
    "taxonomy",
    "policy",
    "referencedOnCommandLine",
    "memoryContents",
    "directory",
    "userSpecifiedConfiguration",
    "toolSpecifiedConfiguration",
    "debugOutputFile",
]


class Node(Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Any object of the standard; each may carry a property bag."""

    properties: Bag | UnsetType = UNSET


class Message(Node, kw_only=True):
    text: str | UnsetType = UNSET
    markdown: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    arguments: list[str] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.text is UNSET and self.id is UNSET:
            raise ValueError("Object has neither `text` nor `id`")


class MultiformatMessage(Node, kw_only=True):
    text: str
    markdown: str | UnsetType = UNSET


class ArtifactContent(Node, kw_only=True):
    text: str | UnsetType = UNSET
    binary: str | UnsetType = UNSET
    rendered: MultiformatMessage | UnsetType = UNSET


class ArtifactLocation(Node, kw_only=True):
    uri: str | UnsetType = UNSET
    uri_base_id: str | UnsetType = UNSET
    index: Index | UnsetType = UNSET
    description: Message | UnsetType = UNSET


class Region(Node, kw_only=True):
    start_line: Place | UnsetType = UNSET
    start_column: Place | UnsetType = UNSET
    end_line: Place | UnsetType = UNSET
    end_column: Place | UnsetType = UNSET
    char_offset: Index | UnsetType = UNSET
    char_length: Length | UnsetType = UNSET
    byte_offset: Index | UnsetType = UNSET
    byte_length: Length | UnsetType = UNSET
    snippet: ArtifactContent | UnsetType = UNSET
    message: Message | UnsetType = UNSET
    source_language: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.start_line is UNSET and self.char_offset is UNSET and self.byte_offset is UNSET:
            raise ValueError("Object has none of `startLine`, `charOffset` and `byteOffset`")


class PhysicalLocation(Node, kw_only=True):
    address: Bag | UnsetType = UNSET
    artifact_location: ArtifactLocation | UnsetType = UNSET
    region: Region | UnsetType = UNSET
    context_region: Region | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.address is UNSET and self.artifact_location is UNSET:
            raise ValueError("Object has neither `address` nor `artifactLocation`")


class LogicalLocation(Node, kw_only=True):
    name: str | UnsetType = UNSET
    index: Index | UnsetType = UNSET
    fully_qualified_name: str | UnsetType = UNSET
    decorated_name: str | UnsetType = UNSET
    parent_index: Index | UnsetType = UNSET
    kind: str | UnsetType = UNSET


class Location(Node, kw_only=True):
    id: Index | UnsetType = UNSET
    physical_location: PhysicalLocation | UnsetType = UNSET
    logical_locations: list[LogicalLocation] | UnsetType = UNSET
    message: Message | UnsetType = UNSET
    annotations: list[Region] | UnsetType = UNSET
    relationships: Bags | UnsetType = UNSET


class Replacement(Node, kw_only=True):
    deleted_region: Region
    inserted_content: ArtifactContent | UnsetType = UNSET


class ArtifactChange(Node, kw_only=True):
    artifact_location: ArtifactLocation
    replacements: Annotated[list[Replacement], Meta(min_length=1)]


class Fix(Node, kw_only=True):
    description: Message | UnsetType = UNSET
    artifact_changes: Annotated[list[ArtifactChange], Meta(min_length=1)]


class Suppression(Node, kw_only=True):
    guid: Guid | UnsetType = UNSET
    kind: Literal["inSource", "external"]
    status: Literal["accepted", "underReview", "rejected"] | UnsetType = UNSET
    justification: str | UnsetType = UNSET
    location: Location | UnsetType = UNSET


class Configuration(Node, kw_only=True):
    enabled: bool | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    rank: Rank | UnsetType = UNSET
    parameters: Bag | UnsetType = UNSET


class Rule(Node, kw_only=True):
    """The standard's reportingDescriptor."""

    id: str
    deprecated_ids: list[str] | UnsetType = UNSET
    guid: Guid | UnsetType = UNSET
    deprecated_guids: list[Guid] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    deprecated_names: list[str] | UnsetType = UNSET
    short_description: MultiformatMessage | UnsetType = UNSET
    full_description: MultiformatMessage | UnsetType = UNSET
    message_strings: dict[str, MultiformatMessage] | UnsetType = UNSET
    default_configuration: Configuration | UnsetType = UNSET
    help_uri: str | UnsetType = UNSET
    help: MultiformatMessage | UnsetType = UNSET
    relationships: Bags | UnsetType = UNSET


class RuleReference(Node, kw_only=True):
    id: str | UnsetType = UNSET
    index: Index | UnsetType = UNSET
    guid: Guid | UnsetType = UNSET
    tool_component: Bag | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.id is UNSET and self.index is UNSET and self.guid is UNSET:
            raise ValueError("Object has none of `id`, `index` and `guid`")


class Result(Node, kw_only=True):
    rule_id: str | UnsetType = UNSET
    rule_index: Index | UnsetType = UNSET
    rule: RuleReference | UnsetType = UNSET
    kind: Literal["notApplicable", "pass", "fail", "review", "open", "informational"] | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    message: Message
    analysis_target: ArtifactLocation | UnsetType = UNSET
    locations: list[Location] | UnsetType = UNSET
    guid: Guid | UnsetType = UNSET
    correlation_guid: Guid | UnsetType = UNSET
    occurrence_count: Place | UnsetType = UNSET
    partial_fingerprints: dict[str, str] | UnsetType = UNSET
    fingerprints: dict[str, str] | UnsetType = UNSET
    stacks: Bags | UnsetType = UNSET
    code_flows: Bags | UnsetType = UNSET
    graphs: Bags | UnsetType = UNSET
    graph_traversals: Bags | UnsetType = UNSET
    related_locations: list[Location] | UnsetType = UNSET
    suppressions: list[Suppression] | UnsetType = UNSET
    baseline_state: Literal["new", "unchanged", "updated", "absent"] | UnsetType = UNSET
    rank: Rank | UnsetType = UNSET
    attachments: Bags | UnsetType = UNSET
    hosted_viewer_uri: str | UnsetType = UNSET
    work_item_uris: list[str] | UnsetType = UNSET
    provenance: Bag | UnsetType = UNSET
    fixes: list[Fix] | UnsetType = UNSET
    taxa: Bags | UnsetType = UNSET
    web_request: Bag | UnsetType = UNSET
    web_response: Bag | UnsetType = UNSET


class ToolComponent(Node, kw_only=True):
    guid: Guid | UnsetType = UNSET
    name: str
    organization: str | UnsetType = UNSET
    product: str | UnsetType = UNSET
    product_suite: str | UnsetType = UNSET
    short_description: MultiformatMessage | UnsetType = UNSET
    full_description: MultiformatMessage | UnsetType = UNSET
    full_name: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    semantic_version: str | UnsetType = UNSET
    dotted_quad_file_version: Annotated[str, Meta(pattern=r"[0-9]+(\.[0-9]+){3}")] | UnsetType = UNSET
    release_date_utc: str | UnsetType = UNSET
    download_uri: str | UnsetType = UNSET
    information_uri: str | UnsetType = UNSET
    global_message_strings: dict[str, MultiformatMessage] | UnsetType = UNSET
    notifications: list[Rule] | UnsetType = UNSET
    rules: list[Rule] | UnsetType = UNSET
    taxa: list[Rule] | UnsetType = UNSET
    locations: list[ArtifactLocation] | UnsetType = UNSET
    language: Language | UnsetType = UNSET
    contents: list[Literal["localizedData", "nonLocalizedData"]] | UnsetType = UNSET
    is_comprehensive: bool | UnsetType = UNSET
    localized_data_semantic_version: str | UnsetType = UNSET
    minimum_required_localized_data_semantic_version: str | UnsetType = UNSET
    associated_component: Bag | UnsetType = UNSET
    translation_metadata: Bag | UnsetType = UNSET
    supported_taxonomies: Bags | UnsetType = UNSET


class Tool(Node, kw_only=True):
    driver: ToolComponent
    extensions: list[ToolComponent] | UnsetType = UNSET


class Artifact(Node, kw_only=True):
    description: Message | UnsetType = UNSET
    location: ArtifactLocation | UnsetType = UNSET
    parent_index: Index | UnsetType = UNSET
    offset: Length | UnsetType = UNSET
    length: Index | UnsetType = UNSET
    roles: list[Role] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(pattern="[^/]+/.+")] | UnsetType = UNSET
    contents: ArtifactContent | UnsetType = UNSET
    encoding: str | UnsetType = UNSET
    source_language: str | UnsetType = UNSET
    hashes: dict[str, str] | UnsetType = UNSET
    last_modified_time_utc: str | UnsetType = UNSET


class Run(Node, kw_only=True):
    tool: Tool
    invocations: Bags | UnsetType = UNSET
    conversion: Bag | UnsetType = UNSET
    language: Language | UnsetType = UNSET
    version_control_provenance: Bags | UnsetType = UNSET
    original_uri_base_ids: dict[str, ArtifactLocation] | UnsetType = UNSET
    artifacts: list[Artifact] | UnsetType = UNSET
    logical_locations: list[LogicalLocation] | UnsetType = UNSET
    graphs: Bags | UnsetType = UNSET
    # The standard's text says null for a tool that did not start; its schema does not.
    results: list[Result] | UnsetType | None = UNSET
    automation_details: Bag | UnsetType = UNSET
    run_aggregates: Bags | UnsetType = UNSET
    baseline_guid: Guid | UnsetType = UNSET
    redaction_tokens: list[str] | UnsetType = UNSET
    default_encoding: str | UnsetType = UNSET
    default_source_language: str | UnsetType = UNSET
    newline_sequences: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    column_kind: Literal["utf16CodeUnits", "unicodeCodePoints"] | UnsetType = UNSET
    external_property_file_references: Bag | UnsetType = UNSET
    thread_flow_locations: Bags | UnsetType = UNSET
    taxonomies: list[ToolComponent] | UnsetType = UNSET
    addresses: Bags | UnsetType = UNSET
    translations: list[ToolComponent] | UnsetType = UNSET
    policies: list[ToolComponent] | UnsetType = UNSET
    web_requests: Bags | UnsetType = UNSET
    web_responses: Bags | UnsetType = UNSET
    special_locations: Bag | UnsetType = UNSET


class Log(Node, kw_only=True):
    schema: str | UnsetType = field(default=UNSET, name="$schema")
    version: Literal["2.1.0"]
    runs: list[Run] | None
    inline_external_properties: Bags | UnsetType = UNSET

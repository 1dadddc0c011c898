//! The file of data: its types, from which it is checked and read, and the [`Data`] that comes of it.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source};
use crate::format::Checker;
use crate::format::types::{DelayRange, Expression, FileRange, OneOrMany, Uri, Version, given};
use crate::peer::fill::MAX_FILL;

use super::super::request::{METHODS, Method};
use super::condition::{DataCondition, about_annotations, about_items, about_mentions};
use super::{Annotation, AnnotationScope, Data, DataEntry, DataFailure, Needs};

/// Reads a file.
///
/// # Errors
/// All that is wrong, each with its place.
pub fn read(source: &Source) -> Result<Data, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let mut checker = Checker::new(source, "data");
    let file: Option<DataFile> = checker.read("the file", &root);
    for entry in entries(&root, "annotations") {
        one_scope(&mut checker, entry);
        entry.get("item").into_iter().for_each(|item| sizes(&mut checker, &item.value));
    }
    entries(&root, "items").for_each(|item| sizes(&mut checker, item));
    entries(&root, "failures").for_each(|entry| some_effect(&mut checker, entry));
    file.filter(|_| checker.faults.is_empty()).map(Data::from).ok_or(checker.faults)
}

fn one_scope(checker: &mut Checker<'_>, node: &Node) {
    if let (Some(_), Some(range)) = (node.get("each"), node.get("range")) {
        let message = "an annotation cannot have both `each` and `range`";
        checker.fault("both", range.key_span, message, "make two annotations of it");
    }
}

fn some_effect(checker: &mut Checker<'_>, node: &Node) {
    if node.as_map().is_some() && ["error", "status", "after"].iter().all(|key| node.get(key).is_none()) {
        checker.fault("missing", node.span, "a failure does nothing", "expected `error`, `status` or `after`");
    }
}

/// Notes texts of an item that are too large.
fn sizes(checker: &mut Checker<'_>, item: &Node) {
    let at = |path: [&str; 2]| path.iter().try_fold(item, |node, key| Some(&node.get(key)?.value));
    for (node, key) in [
        (at(["ui", "hover"]), "markdown"),
        (at(["ui", "hover"]), "text"),
        (item.get("ai").map(|ai| &ai.value), "content"),
    ] {
        let Some(content) = node.and_then(|node| node.get(key)) else { continue };
        let length = content.value.get("text").and_then(|text| text.value.as_str()).map_or(0, str::len);
        let times = content.value.get("times").and_then(|times| times.value.to_json().as_u64()).unwrap_or_default();
        if (length as u64).saturating_mul(times) > MAX_FILL as u64 {
            let there = format!("expected no more than {} MiB", MAX_FILL >> 20);
            checker.fault("size", content.value.span, format!("`{key}` is too large"), there);
        }
    }
}

/// The items of a list.
fn entries<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> + use<'n> {
    node.get(key).and_then(|entry| entry.value.as_list()).into_iter().flatten()
}

/// What a provider has to give.
#[derive(Deserialize, JsonSchema)]
pub struct DataFile {
    #[serde(rename = "wirecert")]
    _version: Version,
    /// What the provider says of itself: the result of `meta`.
    meta: Meta,
    /// Methods that it does not offer, and answers with an error. Those without data give an empty list.
    #[serde(default)]
    #[schemars(transform = all_but_meta)]
    missing: Vec<Method>,
    /// Settings without which it answers with an error.
    settings: Option<NeededSettings>,
    /// How long methods take: a time, or two between which one is drawn.
    #[serde(default)]
    latency: Latencies,
    /// When it fails, or is slow. The first that applies counts.
    #[serde(default)]
    failures: Vec<FailureEntry>,
    /// What can be mentioned.
    #[serde(default)]
    mentions: Vec<MentionEntry>,
    /// Documents and other content.
    #[serde(default)]
    items: Vec<ItemEntry>,
    /// Items attached to documents.
    #[serde(default)]
    annotations: Vec<AnnotationEntry>,
}

/// It always offers `meta`.
fn all_but_meta(schema: &mut Schema) {
    let names: Vec<&str> = METHODS[1..].iter().map(|method| method.name()).collect();
    schema.insert("items".to_owned(), json!({"type": "string", "enum": names, "x-wirecert-noun": "method"}));
}

/// What a provider says of itself.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Meta {
    /// The name of the provider.
    name: String,
    /// The items feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<ItemsFeature>,
    /// The mentions feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    mentions: Option<MentionsFeature>,
    /// The annotations feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<AnnotationsFeature>,
    /// Further members, which the protocol does not have.
    #[serde(default, skip_serializing)]
    extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ItemsFeature {
    /// Which messages it has items for.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_selectors: Option<Vec<MessageSelector>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct MessageSelector {
    /// A regular expression, as in JavaScript.
    pattern: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MentionsFeature {
    /// What a user is shown who is about to mention something.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Whether it has default context: true, false, or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_include: Option<FlagOrText>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum FlagOrText {
    Flag(bool),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct AnnotationsFeature {
    /// Which documents it has annotations for.
    #[serde(skip_serializing_if = "Option::is_none")]
    selectors: Option<Vec<DocumentSelector>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DocumentSelector {
    /// A glob that the path has to match.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// A text that the content has to contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_contains: Option<String>,
}

/// Settings without which it answers with an error.
#[derive(Deserialize, JsonSchema)]
struct NeededSettings {
    /// The settings that have to be there, and not be empty.
    needs: Vec<String>,
    /// The methods that need them. Default: all but `meta`.
    #[serde(rename = "for")]
    methods: Option<Vec<Method>>,
    /// The error otherwise. Default: code -32001.
    error: Option<ErrorEntry>,
}

/// An error of the protocol.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ErrorEntry {
    /// Its code.
    code: i64,
    /// Its message.
    message: String,
    /// What else there is to say.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// How long methods take.
#[derive(Default, Deserialize, JsonSchema)]
struct Latencies {
    /// How long `meta` takes.
    meta: Option<DelayRange>,
    /// How long `mentions` takes.
    mentions: Option<DelayRange>,
    /// How long `items` takes.
    items: Option<DelayRange>,
    /// How long `annotations` takes.
    annotations: Option<DelayRange>,
}

/// A failure, or a delay.
#[derive(Deserialize, JsonSchema)]
struct FailureEntry {
    /// The methods that it concerns. Default: all.
    #[serde(default)]
    method: OneOrMany<Method>,
    /// The requests that it concerns. Default: all.
    #[serde(default)]
    when: DataCondition,
    /// The error with which the request is answered.
    error: Option<ErrorEntry>,
    /// The HTTP status of the response: of the error, or without any.
    #[schemars(range(min = 300, max = 599))]
    status: Option<u16>,
    /// How long it takes until then; alone, the request is answered as usual after that time.
    #[serde(default)]
    after: DelayRange,
}

/// Something that can be mentioned.
#[derive(Serialize, Deserialize, JsonSchema)]
struct MentionEntry {
    /// When it is given: all conditions of one of these. Where none is about the query, its words have to occur in title or
    /// description.
    #[serde(default, skip_serializing)]
    #[schemars(transform = about_mentions)]
    when: DataCondition,
    /// Its title.
    title: String,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Its URI.
    uri: Uri,
    /// What the provider wants back with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Map<String, Value>>,
    /// Further members, which the protocol does not have.
    #[serde(default, skip_serializing)]
    extra: Map<String, Value>,
}

/// An item, and when it is given.
#[derive(Deserialize, JsonSchema)]
struct ItemEntry {
    /// When it is given: all conditions of one of these. Default: always.
    #[serde(default)]
    #[schemars(transform = about_items)]
    when: DataCondition,
    #[serde(flatten)]
    item: Item,
}

/// An item.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Item {
    /// Its title.
    title: String,
    /// Where there is more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Uri>,
    /// What is for humans.
    #[serde(skip_serializing_if = "Option::is_none")]
    ui: Option<ForHumans>,
    /// What is for AI.
    #[serde(skip_serializing_if = "Option::is_none")]
    ai: Option<ForAi>,
    /// Further members, which the protocol does not have.
    #[serde(default, skip_serializing)]
    extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ForHumans {
    /// What is shown in a tooltip.
    #[serde(skip_serializing_if = "Option::is_none")]
    hover: Option<Hover>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Hover {
    /// The text as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<Content>,
    /// The plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Content>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ForAi {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
}

/// A text, or a text repeated.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Content {
    Text(String),
    Repeated {
        /// What is repeated.
        text: String,
        /// How often; 64 MiB in all at most.
        #[schemars(range(max = u32::MAX))]
        times: u32,
    },
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Repeated { text, times } => serializer.serialize_str(&text.repeat(*times as usize)),
        }
    }
}

/// An item attached to documents.
#[derive(Deserialize, JsonSchema)]
struct AnnotationEntry {
    /// When it is given: all conditions of one of these. Default: always.
    #[serde(default)]
    #[schemars(transform = about_annotations)]
    when: DataCondition,
    /// The URI of the document. Default: that of the request.
    uri: Option<Uri>,
    /// One annotation for each match in the document, with its range.
    each: Option<Expression>,
    /// Where it is, instead of `each`. Without both it is about the whole document.
    range: Option<FileRange>,
    /// The item. `${0}` and `${name}` in its texts are what groups matched.
    item: Item,
    /// Further members, which the protocol does not have.
    #[serde(default)]
    extra: Map<String, Value>,
}

/// The members that are sent, and the further ones.
fn members(of: &impl Serialize, extra: Map<String, Value>) -> Map<String, Value> {
    let mut members = match json!(of) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    members.extend(extra);
    members
}

impl From<DataFile> for Data {
    fn from(file: DataFile) -> Self {
        let Latencies { meta, mentions, items, annotations } = file.latency;
        let latencies = [meta, mentions, items, annotations];
        let latency = |(method, range): (Method, Option<DelayRange>)| {
            range.map(|DelayRange(least, most)| (method, (least, most)))
        };
        Self {
            meta: members(&file.meta, file.meta.extra.clone()),
            missing: file.missing,
            needs: file.settings.map(Needs::from),
            latency: METHODS.into_iter().zip(latencies).filter_map(latency).collect(),
            failures: file.failures.into_iter().map(DataFailure::from).collect(),
            mentions: file.mentions.into_iter().map(DataEntry::from).collect(),
            items: file.items.into_iter().map(DataEntry::from).collect(),
            annotations: file.annotations.into_iter().map(Annotation::from).collect(),
        }
    }
}

impl From<NeededSettings> for Needs {
    fn from(entry: NeededSettings) -> Self {
        let missing = || json!({"code": -32001, "message": "a setting is missing: see the provider's documentation"});
        Self {
            settings: entry.needs,
            methods: entry.methods.unwrap_or_else(|| METHODS[1..].to_vec()),
            error: entry.error.map_or_else(missing, |error| json!(error)),
        }
    }
}

impl From<FailureEntry> for DataFailure {
    fn from(entry: FailureEntry) -> Self {
        Self {
            methods: entry.method.into(),
            when: entry.when,
            error: entry.error.map(|error| json!(error)),
            status: entry.status,
            after: entry.after.0,
        }
    }
}

impl From<MentionEntry> for DataEntry {
    fn from(entry: MentionEntry) -> Self {
        let gives = members(&entry, entry.extra.clone()).into();
        Self { when: entry.when, gives }
    }
}

impl From<ItemEntry> for DataEntry {
    fn from(ItemEntry { when, item }: ItemEntry) -> Self {
        Self { when, gives: members(&item, item.extra.clone()).into() }
    }
}

impl From<AnnotationEntry> for Annotation {
    fn from(entry: AnnotationEntry) -> Self {
        Self {
            when: entry.when,
            uri: entry.uri.map(|uri| uri.0),
            at: match (entry.each, entry.range) {
                (Some(Expression(each)), _) => AnnotationScope::Each(each),
                (None, Some(range)) => AnnotationScope::Range(json!(range)),
                (None, None) => AnnotationScope::Whole,
            },
            item: members(&entry.item, entry.item.extra.clone()).into(),
            extra: entry.extra,
        }
    }
}

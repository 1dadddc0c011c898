//! What a data file may hold: one table, from which it is checked, and its schema made.

use crate::peer::format::{Key, Shape, key, needed};

/// The names of the methods, in the order of the document.
const METHODS: &[&str] = &["meta", "mentions", "items", "annotations"];
const METHOD: Shape = Shape::Choice("method", METHODS);

const EXTRA: Key = key("extra", Shape::Free, "Further members, which the protocol does not have.");

/// The whole file.
pub const FILE: Shape = Shape::Map(&[
    needed("wirecert", Shape::Version, "The version of this format."),
    needed("meta", Shape::Map(META), "What the provider says of itself: the result of `meta`."),
    key(
        "missing",
        Shape::List(&Shape::Choice("method", METHODS.split_at(1).1)),
        "Methods that it does not offer, and answers with an error. Those without data give an empty list.",
    ),
    key("settings", Shape::Map(SETTINGS), "Settings without which it answers with an error."),
    key(
        "latency",
        Shape::Each("method", METHODS, &Shape::Time),
        "How long methods take: a time, or two between which one is drawn.",
    ),
    key("failures", Shape::List(&Shape::Map(FAILURE)), "When it fails, or is slow. The first that applies counts."),
    key("mentions", Shape::List(&Shape::Map(MENTION)), "What can be mentioned."),
    key("items", Shape::List(&Shape::Map(ITEM)), "Documents and other content."),
    key("annotations", Shape::List(&Shape::Map(ANNOTATION)), "Items attached to documents."),
]);

const META: &[Key] = &[
    needed("name", Shape::Text, "The name of the provider."),
    key(
        "items",
        Shape::Map(&[key(
            "messageSelectors",
            Shape::List(&Shape::Map(&[needed("pattern", Shape::Text, "A regular expression, as in JavaScript.")])),
            "Which messages it has items for.",
        )]),
        "The items feature.",
    ),
    key(
        "mentions",
        Shape::Map(&[
            key("label", Shape::Text, "What a user is shown who is about to mention something."),
            key("autoInclude", Shape::FlagOrText, "Whether it has default context: true, false, or a text."),
        ]),
        "The mentions feature.",
    ),
    key(
        "annotations",
        Shape::Map(&[key(
            "selectors",
            Shape::List(&Shape::Map(&[
                key("path", Shape::Text, "A glob that the path has to match."),
                key("contentContains", Shape::Text, "A text that the content has to contain."),
            ])),
            "Which documents it has annotations for.",
        )]),
        "The annotations feature.",
    ),
    EXTRA,
];

const SETTINGS: &[Key] = &[
    needed("needs", Shape::List(&Shape::Text), "The settings that have to be there, and not be empty."),
    key("for", Shape::List(&METHOD), "The methods that need them; all but `meta` where not said."),
    key("error", Shape::Map(ERROR), "The error otherwise; code -32001 where not said."),
];

const ERROR: &[Key] = &[
    needed("code", Shape::Code, "Its code."),
    needed("message", Shape::Text, "Its message."),
    key("data", Shape::Any, "What else there is to say."),
];

const FAILURE: &[Key] = &[
    key("method", Shape::Several(&METHOD), "The methods that it concerns; all where not said."),
    key("when", Shape::Several(&Shape::Map(ANY_CONDITION)), "The requests that it concerns; all where not said."),
    key("error", Shape::Map(ERROR), "The error with which the request is answered."),
    key("status", Shape::Number(300, 599), "The HTTP status of the answer: of the error, or without any."),
    key("after", Shape::Time, "How long it takes until then; alone, the request is answered as usual after that time."),
];

const QUERY: Key = key("query", Shape::Regex, "Matches the query somewhere; an absent one is empty.");
const URI: Key = key("uri", Shape::Regex, "Matches the URI of the document somewhere; an absent one is empty.");
const CODEBASE: Key = key("codebase", Shape::Regex, "Matches the name of the codebase; an absent one is empty.");
const AUTO_INCLUDE: Key = key("autoInclude", Shape::Flag, "Whether default context is asked for.");
const MESSAGE: Key = key("message", Shape::Regex, "Matches the message somewhere; an absent one is empty.");
const OF_MENTION: Key = key("mention", Shape::Regex, "Matches the URI of the mention somewhere.");
const CONTENT: Key = key("content", Shape::Regex, "Matches the document somewhere.");
const WITH: Key = key("settings", Shape::Free, "Settings that have exactly these values.");

const ANY_CONDITION: &[Key] = &[QUERY, URI, CODEBASE, AUTO_INCLUDE, MESSAGE, OF_MENTION, CONTENT, WITH];

/// What a condition can be about.
pub const TEXTS: [&str; 6] = ["query", "uri", "codebase", "message", "mention", "content"];

const WHEN: &str = "When it is given: all conditions of one of these; always where not said.";

const MENTION: &[Key] = &[
    key(
        "when",
        Shape::Several(&Shape::Map(&[QUERY, URI, CODEBASE, AUTO_INCLUDE, WITH])),
        "When it is given: all conditions of one of these. Where none is about the query, its words have to occur in \
         title or description.",
    ),
    needed("title", Shape::Text, "Its title."),
    key("description", Shape::Text, "Its description."),
    needed("uri", Shape::Uri, "Its URI."),
    key("data", Shape::Free, "What the provider wants back with it."),
    EXTRA,
];

const BARE_ITEM: [Key; 5] = [
    needed("title", Shape::Text, "Its title."),
    key("url", Shape::Uri, "Where there is more about it."),
    key(
        "ui",
        Shape::Map(&[key(
            "hover",
            Shape::Map(&[
                key("markdown", Shape::Content, "The text as Markdown."),
                key("text", Shape::Content, "The plain text."),
            ]),
            "What is shown in a tooltip.",
        )]),
        "What is for humans.",
    ),
    key("ai", Shape::Map(&[key("content", Shape::Content, "The text.")]), "What is for AI."),
    EXTRA,
];

const ITEM: &[Key] = &[
    key("when", Shape::Several(&Shape::Map(&[MESSAGE, OF_MENTION, WITH])), WHEN),
    BARE_ITEM[0],
    BARE_ITEM[1],
    BARE_ITEM[2],
    BARE_ITEM[3],
    BARE_ITEM[4],
];

const PLACE: Shape = Shape::Map(&[
    needed("line", Shape::Count, "The line, from 0."),
    needed("character", Shape::Count, "The character on it, from 0."),
]);

const ANNOTATION: &[Key] = &[
    key("when", Shape::Several(&Shape::Map(&[URI, CONTENT, WITH])), WHEN),
    key("uri", Shape::Uri, "The URI of the document; that of the request where not said."),
    key("each", Shape::Regex, "One annotation for each match in the document, with its range."),
    key(
        "range",
        Shape::Map(&[needed("start", PLACE, "Where it begins."), needed("end", PLACE, "Where it ends.")]),
        "Where it is, instead of `each`. Without both it is about the whole document.",
    ),
    needed("item", Shape::Map(&BARE_ITEM), "The item. `${0}` and `${name}` in its texts are what groups matched."),
    EXTRA,
];

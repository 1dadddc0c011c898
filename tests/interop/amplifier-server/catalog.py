"""What there is to choose from: profiles, collections and agents."""

MODELS = ["claude-sonnet-4-5"]

PROFILES = [
    {
        "name": "foundation",
        "collection": None,
        "description": "What every session needs",
        "extends": None,
    },
    {
        "name": "dev",
        "collection": None,
        "description": "For work on code",
        "extends": "foundation",
    },
    {
        "name": "writing:letters",
        "collection": "writing",
        "description": "For letters",
        "extends": "foundation",
    },
]

MODULES = {
    "providers": [{"module": "provider-anthropic", "config": {"default_model": MODELS[0]}}],
    "tools": [{"module": "tool-filesystem"}],
    "hooks": [{"module": "hooks-approval"}],
    "agents": ["reader"],
}

COLLECTIONS = [
    {
        "name": "writing",
        "description": "For texts",
        "version": "1.0.0",
        "profiles": ["letters"],
        "agents": ["editor"],
    }
]

AGENTS = [
    {"name": "reader", "collection": None, "description": "Reads files"},
    {
        "name": "editor",
        "collection": "writing",
        "description": "Improves texts",
        "providers": [{"module": "provider-anthropic"}],
    },
]


def profile(name):
    return next((profile for profile in PROFILES if profile["name"] == name), None)


def of(things, collection):
    return [thing for thing in things if collection in (None, thing["collection"])]

"""Writes generated.jsonl: texts of known facts, condensed in known ways.

python3 crates/tenure/tests/fidelity/generate.py

Every line has the original, the condensed text, the facts that a reader still finds in it and
those that the reader does not, and whether the loss must be noticed. Lines with "better" and
"worse" instead say which of two condensed texts is more faithful.
"""

import json
import pathlib
import random

dice = random.Random(20260606)
NAMES = ["Ada", "Grace", "Linus", "Marta", "Jonas", "Priya", "Amara", "Lena", "Tomas", "Yuki"]
CITIES = ["Oslo", "Lisbon", "Madrid", "Geneva", "Berlin", "Dublin", "Riga", "Porto"]
PARTS = ["pump", "valve", "boiler", "sensor", "turbine", "compressor", "condenser", "mixer"]
SLOTS = ["timeout", "retry limit", "batch size", "page size", "pool size", "backlog", "ttl", "quota"]
SERVICES = ["billing", "search", "mail", "orders", "login", "export", "ledger", "stock"]
COLOURS = ["red", "green", "grey", "yellow", "white"]


def number(low=13, high=9_000):
    return dice.randint(low, high)


def facts_of_prose(count):
    """Facts as (full sentence, short paraphrase, altered sentence, whether a mark changes)."""
    made = []
    parts, slots = dice.sample(PARTS, len(PARTS)), dice.sample(SLOTS, len(SLOTS))
    names, cities = dice.sample(NAMES, len(NAMES)), dice.sample(CITIES, len(CITIES))
    services = dice.sample(SERVICES, len(SERVICES))
    for _ in range(count):
        value = number()
        other = value + dice.choice([-7, 3, 10, 90])
        kind = dice.randrange(8)
        part, slot, service = parts.pop(), slots.pop(), services.pop()
        if kind == 0:
            made.append((f"The {slot} of the {service} service is {value}.", f"{service} service {slot}: {value}.", f"The {slot} of the {service} service is {other}."))
        elif kind == 1:
            made.append((f"The {part} must not be opened during a test.", f"Do not open the {part} during a test.", f"The {part} must be opened during a test."))
        elif kind == 2:
            name, city = names.pop(), cities.pop()
            made.append((f"Since last year {name} runs the office in {city}.", f"{name} runs the office in {city} since last year.", f"Since last year {names.pop()} runs the office in {city}."))
        elif kind == 3:
            made.append((f"The {service} service was moved to host_{value}.", f"Moved {service} service to host_{value}.", f"The {service} service was moved to host_{other}."))
        elif kind == 4:
            made.append((f"The {part} never failed in {value} hours.", f"{part}: never failed, {value} h.", f"The {part} failed in {value} hours."))
        elif kind == 5:
            made.append((f"It took {value} ms to load the {service} page.", f"Load of the {service} page took {value} ms.", f"It took {value} s to load the {service} page."))
        elif kind == 6:
            made.append((f"The housing of the {part} is {dice.choice(COLOURS)} and made of steel.", None, None))
        else:
            made.append((f"Alarms of the {part} are always logged.", f"{part} alarms are always logged.", f"Alarms of the {part} are not logged."))
    return made


def facts_of_lines(count, form):
    made = []
    services = dice.sample(SERVICES, len(SERVICES))
    for at in range(count):
        value, service = number(), services.pop()
        other = value + dice.choice([-9, 4, 20])
        if form == "log":
            stamp = f"10:{dice.randint(10, 59)}:{dice.randint(10, 59)}"
            verb = dice.choice(["INFO served request", "WARN queue depth", "ERROR failed request"])
            line = f"{stamp} {verb} {value} on {service}"
            made.append((line, line, f"{stamp} {verb} {other} on {service}"))
        elif form == "config":
            key = f"{service}_{dice.choice(['limit', 'port', 'timeout'])}"
            made.append((f"{key} = {value}", f"{key}: {value}", f"{key} = {other}"))
        else:
            key = f"{service}_count"
            made.append((f'"{key}": {value}', f'"{key}":{value}', f'"{key}": {other}'))
    return made


def join(parts, form):
    if form == "prose":
        return " ".join(parts)
    if form == "json":
        return "{" + ", ".join(parts) + "}"
    return "\n".join(parts)


def pair(at):
    form = dice.choice(["prose", "prose", "prose", "log", "config", "json"])
    count = dice.randint(3, 7)
    facts = facts_of_prose(count) if form == "prose" else facts_of_lines(count, form)
    kept, lost, condensed, changes = [], [], [], set()
    appetite = dice.choice([0.0, 0.2, 0.5, 0.8])
    for full, short, altered in facts:
        roll = dice.random()
        if roll < appetite * 0.6:
            lost.append(full)
            changes.add("left out")
        elif roll < appetite and altered is not None:
            lost.append(full)
            condensed.append(altered)
            changes.add("altered")
        else:
            kept.append(full)
            paraphrase = short is not None and dice.random() < 0.5
            condensed.append(short if paraphrase else full)
            if paraphrase:
                changes.add("paraphrased")
    if form == "prose":
        condensed = [text[0].upper() + text[1:] for text in condensed]
    return {
        "kind": form,
        "change": sorted(changes),
        "original": join([full for full, _, _ in facts], form),
        "condensed": join(condensed, form),
        "kept": kept,
        "lost": lost,
        "notice": "altered" in changes,
    }


def order():
    form = dice.choice(["prose", "prose", "log", "config", "json"])
    count = dice.randint(4, 7)
    facts = facts_of_prose(count) if form == "prose" else facts_of_lines(count, form)
    full = [fact[0] for fact in facts]
    # Facts that say something that a change of one of them would alter.
    can = [at for at, fact in enumerate(facts) if fact[2] is not None]
    if not can:
        return order()
    hit = dice.choice(can)
    worse = [facts[at][2] if at == hit else text for at, text in enumerate(full)]
    if dice.random() < 0.5:
        gone = (hit + 1) % count
        worse = [text for at, text in enumerate(worse) if at != gone]
        better = [text for at, text in enumerate(full) if at != gone]
    else:
        better = [fact[1] or fact[0] for fact in facts]
    return {"kind": form, "original": join(full, form), "better": join(better, form), "worse": join(worse, form)}


lines = [pair(at) for at in range(110)] + [order() for _ in range(30)]
target = pathlib.Path(__file__).with_name("generated.jsonl")
target.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

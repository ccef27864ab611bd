//! The operations in TypeScript: types, and a class with a method for each of them.

use super::types::{Definition, Field, Method, Operations, Shape, Type, lines, pascal};

/// The most characters of a line.
const WIDTH: usize = 120;

/// Returns `operations.ts`.
pub(crate) fn types_and_methods(operations: &Operations) -> String {
    let types = operations.definitions.iter().map(definition);
    let options = operations.methods.iter().filter_map(options);
    let types: String = types.chain(options).map(|text| text + "\n").collect();
    let methods: Vec<String> = operations.methods.iter().map(method).collect();
    let has_writes = operations.methods.iter().any(|method| method.writes);
    let write = if has_writes {
        "import type { WriteOptions } from \"./caller.js\";\n"
    } else {
        ""
    };
    format!(
        "/** The operations of the table and their types: written from their schemas by a test of `tenure-operations`. */\n\n\
         import {{ Caller }} from \"./caller.js\";\n{write}\n{types}\
         /** A tenant of a store, whose owner calls the operations. `Store.tenant` opens one. */\n\
         export class Tenant extends Caller {{\n{}}}\n",
        methods.join("\n")
    )
}

fn definition(definition: &Definition) -> String {
    let (name, says) = (&definition.name, documented(&definition.says, ""));
    match &definition.shape {
        Shape::Object { fields, is_open } => {
            let more = if *is_open {
                "  [field: string]: unknown;\n"
            } else {
                ""
            };
            format!(
                "{says}export interface {name} {{\n{}{more}}}\n",
                of_fields(fields, Field::clone)
            )
        }
        Shape::Other(kind) => {
            let whole = typed(kind);
            let line = format!("export type {name} = {whole};\n");
            let text = match kind {
                Type::Choice(all) if line.chars().count() > WIDTH => {
                    let each = all.iter().map(|kind| format!("\n  | {}", typed(kind)));
                    let each: String = each.collect();
                    format!("export type {name} ={each};\n")
                }
                _ => line,
            };
            says + &text
        }
    }
}

fn options_name(method: &Method) -> String {
    format!("{}Options", pascal(method.id))
}

/// Returns the type of the options of a method.
fn options(method: &Method) -> Option<String> {
    if method.fields.is_empty() {
        return None;
    }
    let name = |field: &Field| Field {
        name: camel(&field.name),
        kind: if field.is_required {
            field.kind.clone()
        } else {
            field.kind.some()
        },
        ..field.clone()
    };
    let name_of_method = method_name(method.id);
    Some(format!(
        "/** What {{@link Tenant.{name_of_method}}} takes. */\nexport interface {} {{\n{}}}\n",
        options_name(method),
        of_fields(&method.fields, name)
    ))
}

fn of_fields(fields: &[Field], named: impl Fn(&Field) -> Field) -> String {
    let each = fields.iter().map(named).map(|field| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let is_name = field.name.chars().all(is_plain)
            && !field.name.starts_with(|c: char| c.is_ascii_digit());
        let name = if is_name {
            field.name.clone()
        } else {
            format!("{:?}", field.name)
        };
        let open = if field.is_required { "" } else { "?" };
        format!(
            "{}  {name}{open}: {};\n",
            documented(&field.says, "  "),
            typed(&field.kind)
        )
    });
    each.collect()
}

/// Returns the name of a method.
pub(crate) fn method_name(id: &str) -> String {
    id.to_owned()
}

/// Returns the name of an option.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    first + &words.map(pascal).collect::<String>()
}

fn method(method: &Method) -> String {
    let has_required = method.fields.iter().any(|field| field.is_required);
    let form = if method.fields.is_empty() {
        None
    } else if has_required {
        Some(format!("given: {}", options_name(method)))
    } else {
        Some(format!("given: {} = {{}}", options_name(method)))
    };
    let write = method.writes.then(|| "options: WriteOptions = {}".to_owned());
    let given = if form.is_some() { "given" } else { "{}" };
    let arguments: Vec<String> = form.into_iter().chain(write).collect();
    let names: Vec<String> =
        method.fields.iter().map(|field| format!("{:?}", field.name)).collect();
    let options = if method.writes { ", options" } else { "" };
    let call = format!(
        "    return this.call({:?}, {given}, [{}]{options});\n",
        method.id,
        names.join(", ")
    );
    let call = if call.chars().count() <= WIDTH {
        call
    } else {
        let each: String = names.iter().map(|name| format!("      {name},\n")).collect();
        format!(
            "    const fields = [\n{each}    ];\n    return this.call({:?}, {given}, fields{options});\n",
            method.id
        )
    };
    format!(
        "{}  async {}({}): Promise<{}> {{\n{call}  }}\n",
        documented(&method.says, "  "),
        method_name(method.id),
        arguments.join(", "),
        typed(&method.answer)
    )
}

fn documented(says: &str, indent: &str) -> String {
    let lines: Vec<String> = lines(says, WIDTH - 7 - indent.len())
        .iter()
        .map(|line| line.replace("*/", "*\\/"))
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let each = lines
                .iter()
                .map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            let each: String = each.collect();
            format!("{indent}/**\n{each}{indent} */\n")
        }
    }
}

fn typed(kind: &Type) -> String {
    match kind {
        Type::Any => "unknown".into(),
        Type::Null => "null".into(),
        Type::Bool => "boolean".into(),
        Type::Whole | Type::Number => "number".into(),
        Type::Text => "string".into(),
        Type::Word(word) => word.to_string(),
        Type::List(inner) => match &**inner {
            Type::Choice(_) => format!("({})[]", typed(inner)),
            inner => format!("{}[]", typed(inner)),
        },
        Type::Places(all) => {
            let all: Vec<String> = all.iter().map(typed).collect();
            format!("[{}]", all.join(", "))
        }
        Type::Map(inner) => format!("Record<string, {}>", typed(inner)),
        Type::Choice(all) => {
            let all: Vec<String> = all.iter().map(typed).collect();
            all.join(" | ")
        }
        Type::Named(name) => name.clone(),
    }
}

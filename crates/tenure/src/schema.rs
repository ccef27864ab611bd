//! The published forms as JSON Schema (2020-12), generated from the types. The committed copies
//! under `schemas/` are checked against these.

use schemars::{Schema, schema_for};

use crate::compile::envelope::Envelope;
use crate::compile::trace::Trace;
use crate::input::policy::PolicyDocument;
use crate::input::request::Request;
use crate::object::ObjectDocument;
use crate::object::vocabulary::vocabulary;
use crate::package::{ContextActivation, PackageEnvelope};
use crate::registry::Entry;

vocabulary! {
    /// The published forms.
    Form ("form") {
        /// A context object.
        Object = "object",
        /// A request.
        Request = "request",
        /// A policy.
        Policy = "policy",
        /// A compiled envelope.
        Envelope = "envelope",
        /// The trace of a compile.
        Trace = "trace",
        /// An operation in a registry's log.
        Op = "op",
        /// A package of working memory, with its id.
        Package = "package",
        /// An activation of a package.
        Activation = "activation",
    }
}

/// The JSON Schema of a published form.
pub fn schema(form: Form) -> Schema {
    match form {
        Form::Object => schema_for!(ObjectDocument),
        Form::Request => schema_for!(Request),
        Form::Policy => schema_for!(PolicyDocument),
        Form::Envelope => schema_for!(Envelope),
        Form::Trace => schema_for!(Trace),
        Form::Op => schema_for!(Entry),
        Form::Package => schema_for!(PackageEnvelope),
        Form::Activation => schema_for!(ContextActivation),
    }
}

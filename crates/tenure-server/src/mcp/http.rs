//! The tools at `/mcp`. Every request stands alone: it has the rights of the key that it shows, and its address names the
//! conversation, the working memory and the tools. There is no session of the protocol that could be taken over.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use serde::Deserialize;
use serde_json::json;
use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind, Principal};

use super::messages::{Fault, LONGEST};
use super::resource::{METADATA, PATH, address};
use super::server::Handler;
use super::{Bound, McpTool, Reached};
use crate::api::Asked;
use crate::app::App;
use crate::arriving::Arriving;
use crate::body::whole_body;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// The label of the working memory that an address does not name.
const REGISTRY: &str = "agent";
/// The longest answer of the SDK that is an error without a form, in bytes.
const LONGEST_ERROR: usize = 64 << 10;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route(PATH, post(answer)).route(METADATA, get(metadata))
}

/// What the address of the tools names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    session: Option<String>,
    registry: Option<String>,
    /// Names of tools, with commas between them.
    tools: Option<String>,
}

impl Bound {
    /// The binding of a request.
    fn of_request(app: &Arc<App>, caller: Caller, named: Named) -> Result<Bound, Refusal> {
        if app.store.is_none() {
            let what = "tools read and write a store, and there is none";
            let refusal = Refusal::from(Error::new(ErrorKind::Unavailable, what));
            return Err(refusal.hint("start the server with --store URL"));
        }
        let grant = Arc::clone(&caller.grant);
        let may_write = grant.operator || grant.user.is_some();
        let mut tools: Vec<McpTool> = match &named.tools {
            None => McpTool::ALL.into_iter().filter(|tool| tool.is_usual()).collect(),
            Some(names) => {
                let tools: Result<_, Error> =
                    names.split(',').map(|name| name.trim().parse()).collect();
                tools.map_err(|error| Error {
                    kind: ErrorKind::Input,
                    ..error.at("tools", None)
                })?
            }
        };
        // Packages lie in a folder, which is of no tenant: they are for those who could read it all the same.
        let is_own = *caller.tenant == *app.settings.tenant;
        let packages = app
            .settings
            .packages
            .as_ref()
            .filter(|_| grant.operator && is_own)
            .map(Arc::clone);
        // Without a user there is no working memory of one's own; that of others is for operators.
        tools.retain(|tool| {
            (may_write || tool.reads()) && (packages.is_some() || !tool.needs_packages())
        });
        tools.sort_unstable();
        tools.dedup();
        if tools.is_empty() {
            let what = "none of these tools is for this key";
            let error = Error::new(ErrorKind::Policy, what).at("tools", None);
            let hint = "a key without a user has the tools that read; packages are for operators of a server with --packages";
            return Err(Refusal::from(error).hint(hint));
        }
        let label = named.registry.as_deref().unwrap_or(REGISTRY);
        let registry = if grant.operator {
            label.to_owned()
        } else {
            own_label(&caller, label)
        };
        super::check_label(&app.workspace, &registry).in_field("registry")?;
        let principal = Principal {
            session: named.session,
            ..grant.principal()
        };
        Ok(Bound {
            app: Arc::clone(app),
            caller,
            principal,
            registry,
            tools,
            packages,
            conversation: None,
            reached: Reached::ByKey,
        })
    }
}

/// The label of a caller's own registry: nobody else's request leads to it.
fn own_label(caller: &Caller, label: &str) -> String {
    let grant = &caller.grant;
    let whose = json!([grant.user, grant.project, label]).to_string();
    let digest: String = Digest::of(whose.as_bytes())
        .to_string()
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    format!("agent-{}", &digest[..32.min(digest.len())])
}

/// Answers a message.
async fn answer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(named): Asked<Named>,
    request: Request,
) -> Result<Response, Refusal> {
    let bound = Arc::new(Bound::of_request(&app, caller, named)?);
    let content_type = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        let what = "the message is not said to be JSON";
        let refusal = Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what);
        return Err(refusal.expected("`Content-Type: application/json`"));
    }
    let limits = &app.settings.limits;
    let arriving = request.extensions().get::<Arriving>().cloned().unwrap_or_default();
    arriving.note(true);
    let (parts, body) = request.into_parts();
    let most = limits.body.min(LONGEST);
    let body = whole_body(&parts.headers, body, most, limits.silence).await?;
    arriving.note(false);
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    config.max_request_body_bytes = most;
    // Whom a request is for, and whose page it comes from, was looked at before.
    let config = config.disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(Handler(Arc::clone(&bound))),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let whole = Request::from_parts(parts, Full::new(body.clone()));
    let response = service.handle(whole).await.map(Body::new);
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Ok(no_message(&body));
    }
    formed(response).await
}

/// The answer to what is no message.
fn no_message(body: &Bytes) -> Response {
    match Fault::of(body).and_then(Fault::answer) {
        Some(answer) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (StatusCode::BAD_REQUEST, json, answer).into_response()
        }
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// An answer of the SDK; its bare words in the form of every other error.
async fn formed(response: Response) -> Result<Response, Refusal> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return Ok(response);
    }
    let words = http_body_util::Limited::new(response.into_body(), LONGEST_ERROR)
        .collect()
        .await
        .map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
    let words = String::from_utf8_lossy(&words);
    Err(Refusal::new(status, clip(&words)))
}

/// Says who issues the tokens that the tools take.
async fn metadata(State(app): State<Arc<App>>, request: Request) -> Response {
    let issuers: Vec<&str> = app.access.issuers().collect();
    if issuers.is_empty() {
        let what = "no issuer's tokens are taken here";
        return Refusal::new(StatusCode::NOT_FOUND, what).into_response();
    }
    let said = json!({
        "resource": address(request.headers(), PATH),
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
        "resource_name": "Tenure",
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, said.to_string()).into_response()
}

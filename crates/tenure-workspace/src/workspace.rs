//! The verbs that every stateful face calls.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tenure::gate::Gating;
use tenure::num::Score;
use tenure::policy::Scorer;
use tenure::time::Instant;
use tenure::{
    Candidates, Catalogue, CompileRecord, Compiled, Error, ErrorKind, Fact, Facts, FrameKey, Model,
    Need, Outcome, PointerId, Policy, Request, Without, World,
};

use tenure_adapters::code::outline;
use tenure_adapters::decompose::{Decomposer, add_subqueries};
use tenure_adapters::embed::{Embedder, Vectorizer};
use tenure_adapters::read::read_text;
use tenure_adapters::relevance::{RelevanceScorer, add_scores};
use tenure_adapters::tokenizer_json;

use crate::clock::Clock;
use crate::collect::{Collect, Collected, collect};
use crate::frame_key::{default_frame_key_path, load_frame_key};
use crate::originals::{Originals, Pointer};
use crate::read::user_folder;

/// The default path of a user's own models: under `$XDG_CONFIG_HOME`, or `~/.config`, in `tenure/models.toml`. `None`
/// without a home or such a file.
pub fn default_catalogue_path() -> Option<PathBuf> {
    let path = user_folder("XDG_CONFIG_HOME", ".config")?.join("tenure/models.toml");
    // A link that leads nowhere is a file that cannot be read, not one that is not there.
    path.symlink_metadata().is_ok().then_some(path)
}

/// Returns whether a text names a policy by its file: who lays a file with the name of a preset into a folder has named nothing.
pub fn is_policy_file(text: &str) -> bool {
    text.ends_with(".toml") || text.contains(std::path::is_separator)
}

/// The source of the frame key.
enum KeySource {
    Key(FrameKey),
    /// Read, or made, when a world is first asked for, so that a mistake before that leaves nothing
    /// behind.
    File(PathBuf),
}

/// The service that all faces call: sources, keys and models come together here.
pub struct Workspace {
    catalogue: Catalogue,
    frame_key: KeySource,
    scorer: Option<Box<dyn RelevanceScorer>>,
    decomposer: Option<Box<dyn Decomposer>>,
    vectorizer: Vectorizer,
    clock: Clock,
}

impl Workspace {
    /// A workspace with this frame key.
    ///
    /// # Errors
    ///
    /// None in a released build: the built-in catalogue is tested.
    pub fn new(frame_key: FrameKey) -> Result<Workspace, Error> {
        Workspace::with_key(KeySource::Key(frame_key))
    }

    /// A workspace for what frames nothing, and so needs no key of its own.
    ///
    /// # Errors
    ///
    /// None in a released build: the built-in catalogue is tested.
    pub fn without_key() -> Result<Workspace, Error> {
        Workspace::new(FrameKey::new("none", [0; 32]))
    }

    /// A workspace with the frame key in this file, which is made when a world is first asked for
    /// and the file does not exist.
    ///
    /// # Errors
    ///
    /// None in a released build: the built-in catalogue is tested.
    pub fn open(frame_key: &Path) -> Result<Workspace, Error> {
        Workspace::with_key(KeySource::File(frame_key.to_owned()))
    }

    fn with_key(frame_key: KeySource) -> Result<Workspace, Error> {
        Ok(Workspace {
            catalogue: Catalogue::builtin()?,
            frame_key,
            scorer: None,
            decomposer: None,
            vectorizer: Vectorizer::default(),
            clock: Clock::default(),
        })
    }

    /// A workspace with the user's own frame key.
    ///
    /// # Errors
    ///
    /// As [`default_frame_key_path`].
    pub fn open_default() -> Result<Workspace, Error> {
        Workspace::open(&default_frame_key_path()?)
    }

    /// Returns the workspace with this clock instead of the machine's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Workspace {
        Workspace { clock, ..self }
    }

    /// The clock that its faces tell the time by.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the workspace with a scorer, which is asked where the policy says `scorer = "supplied"`.
    #[must_use]
    pub fn with_scorer(self, scorer: impl RelevanceScorer + 'static) -> Workspace {
        Workspace {
            scorer: Some(Box::new(scorer)),
            ..self
        }
    }

    /// Returns the workspace with somebody who takes queries apart, asked once for each compile; a retrieval plan has
    /// its own questions.
    #[must_use]
    pub fn with_decomposer(self, decomposer: impl Decomposer + 'static) -> Workspace {
        Workspace {
            decomposer: Some(Box::new(decomposer)),
            ..self
        }
    }

    /// Returns the workspace with a sentence encoder of one's own beside the built-in table.
    #[must_use]
    pub fn with_embedder(self, embedder: impl Embedder + 'static) -> Workspace {
        Workspace {
            vectorizer: Vectorizer::own(embedder),
            ..self
        }
    }

    /// Returns the workspace without vectors: relevance is by terms alone.
    #[must_use]
    pub fn without_vectors(self) -> Workspace {
        Workspace {
            vectorizer: Vectorizer::nothing(),
            ..self
        }
    }

    /// Returns the workspace with these models.
    #[must_use]
    pub fn with_catalogue(self, catalogue: Catalogue) -> Workspace {
        Workspace { catalogue, ..self }
    }

    /// Returns the workspace with the models of this file laid over its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line.
    pub fn load_catalogue(self, path: &Path) -> Result<Workspace, Error> {
        let text = read_text(path)?;
        let shown = path.display().to_string();
        let catalogue = self.catalogue.clone().with_overrides(text, shown)?;
        Ok(self.with_catalogue(catalogue))
    }

    /// The workspace's key, created where its file does not exist yet.
    pub(crate) fn frame_key(&self) -> Result<FrameKey, Error> {
        match &self.frame_key {
            KeySource::Key(key) => Ok(key.clone()),
            KeySource::File(path) => load_frame_key(path),
        }
    }

    pub(crate) fn vectorizer(&self) -> &Vectorizer {
        &self.vectorizer
    }

    /// The models that are known.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The world of a model of the catalogue, or of a path to a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no such model; the nearest is
    /// offered.
    pub fn world(&self, model: &str) -> Result<World, Error> {
        let frame_key = self.frame_key()?;
        if !model.ends_with(".json") {
            return World::from_catalogue(&self.catalogue, model, frame_key);
        }
        let tokenizer = tokenizer_json::open(Path::new(model))?;
        // What a file of tokens does not say is taken from no model: the window is the request's.
        let unknown = Model::new(128_000, 4_096, model);
        Ok(World::new(
            tokenizer.name().to_owned(),
            unknown,
            tokenizer,
            frame_key,
        ))
    }

    /// The world of a model of which nothing is known: its counts are bounds.
    ///
    /// # Errors
    ///
    /// As [`Workspace::world`].
    pub fn unknown_world(&self) -> Result<World, Error> {
        World::unknown(&self.catalogue, self.frame_key()?)
    }

    /// The policy of this name, or in this TOML file. A file is meant where the text is a path: with a `/`, or with the ending
    /// `.toml`. One that merely has the name of a policy is not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line.
    pub fn policy(&self, name_or_path: &str) -> Result<Policy, Error> {
        if !is_policy_file(name_or_path) {
            return Policy::preset(name_or_path);
        }
        let text = read_text(Path::new(name_or_path))?;
        Policy::from_toml(&text).map_err(|error| {
            let line = error.at.as_ref().and_then(|at| at.line);
            error.at(name_or_path, line)
        })
    }

    /// **collect**: the objects of these files and folders, what was not fetched, and warnings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line.
    pub fn collect(&self, paths: &[PathBuf], options: &Collect<'_>) -> Result<Collected, Error> {
        collect(paths, options)
    }

    /// **needs** and **answer**: what only the outside knows about these candidates.
    ///
    /// # Errors
    ///
    /// As [`tenure::needs`].
    pub fn answer(
        &self,
        world: &World,
        policy: &Policy,
        request: &Request,
        candidates: &Candidates,
    ) -> Result<Facts, Error> {
        self.answers(world, policy, request, candidates, true)
    }

    /// Like `answer`; a gate condenses nothing, and so needs no outlines of source code.
    fn answers(
        &self,
        world: &World,
        policy: &Policy,
        request: &Request,
        candidates: &Candidates,
        outlines: bool,
    ) -> Result<Facts, Error> {
        let mut facts = Facts::none();
        // Most candidates raise no question, and finding that out need not settle them.
        let above = policy.document().condense_above as usize;
        let may_be_code = outlines && above > 0 && candidates.longest_data() > above;
        let document = policy.document();
        let scores = self.scorer.is_some() && document.scorer == Scorer::Supplied;
        let points = document.scorer == Scorer::Hybrid && !candidates.is_empty();
        let outside = points && self.vectorizer.asks_outside();
        let needs = match scores || outside {
            true => Some(tenure::needs(world, policy, request, candidates)?),
            false if may_be_code => {
                Some(tenure::outline_needs(world, policy, request, candidates)?)
            }
            false => None,
        };
        let ranks = document.scorer != Scorer::Supplied && request.retrieval.is_none();
        if let Some(decomposer) = self.decomposer.as_deref().filter(|_| ranks) {
            add_subqueries(decomposer, &request.query_text(), &mut facts)?;
        }
        if points {
            let asked = needs.as_ref().filter(|_| outside);
            let asked_texts = asked_texts(request, &facts);
            let texts: Vec<&str> = asked_texts.iter().map(AsRef::as_ref).collect();
            self.vectorizer.answer(&mut facts, &texts, candidates, asked)?;
            if document.ranking.encoder > Score::ZERO {
                self.vectorizer.answer_beside(&mut facts, &texts, candidates)?;
            }
        }
        let Some(needs) = needs else {
            return Ok(facts);
        };
        if let Some(scorer) = &self.scorer {
            add_scores(&**scorer, &needs, candidates, &mut facts)?;
        }
        for asked in needs.asked {
            if let (true, Need::Outline { ending, .. }) = (outlines, &asked.need) {
                // Of a build without parsers, the trace notes that the fact is missing.
                if let Ok(parts) = outline(asked.text(candidates), ending) {
                    facts.insert(&asked.need, Fact::Outline { parts });
                }
            }
        }
        Ok(facts)
    }

    /// The facts of a recorded compile, with the vectors of the built-in table that its record is without.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](tenure::ErrorKind::Internal) when the table was altered.
    pub(crate) fn answer_again(
        &self,
        facts: &Facts,
        without: Option<Without>,
        request: &Request,
        candidates: &Candidates,
    ) -> Result<Facts, Error> {
        let mut facts = facts.clone();
        if let Some(without) = without {
            let asked_texts = asked_texts(request, &facts);
            let texts: Vec<&str> = asked_texts.iter().map(AsRef::as_ref).collect();
            let table = &self.vectorizer;
            table.answer_again(&mut facts, without, &texts, candidates)?;
        }
        Ok(facts)
    }

    /// **compile**, with the answers that the core asks for.
    ///
    /// # Errors
    ///
    /// As [`tenure::compile`].
    pub fn compile(
        &self,
        world: &World,
        policy: &Policy,
        request: &Request,
        candidates: &Candidates,
    ) -> Result<Outcome, Error> {
        let facts = self.answer(world, policy, request, candidates)?;
        tenure::compile(world, policy, request, candidates, &facts)
    }

    /// Evaluates the request's gate for candidates, with the answers that the core asks for.
    ///
    /// # Errors
    ///
    /// As [`tenure::gate()`].
    pub fn gate(
        &self,
        world: &World,
        policy: &Policy,
        request: &Request,
        candidates: &Candidates,
    ) -> Result<Gating, Error> {
        let facts = self.answers(world, policy, request, candidates, false)?;
        tenure::gate(world, policy, request, candidates, &facts)
    }

    /// Keeps the original of everything that an outcome names by a pointer, so that each can be read
    /// back. The traces are the operator's, of these candidates.
    ///
    /// # Errors
    ///
    /// As [`Workspace::keep`].
    pub fn keep_originals(
        &self,
        originals: &Originals,
        outcome: &Outcome,
        candidates: &Candidates,
    ) -> Result<(), Error> {
        let condensed = outcome
            .compiled()
            .flat_map(|compiled| &compiled.trace.condensed)
            .filter(|condensed| condensed.pointer.is_some())
            .map(|condensed| condensed.candidate);
        let evicted = outcome
            .compiled()
            .flat_map(|compiled| &compiled.trace.evicted)
            .map(|evicted| evicted.candidate);
        for candidate in condensed.chain(evicted) {
            if let Some(object) = candidates.objects().get(candidate as usize) {
                self.keep(originals, object.revision().content().as_bytes())?;
            }
        }
        Ok(())
    }

    /// The trace with what only the outside knows; [`Records::keep`](crate::records::Records::keep) stores it.
    pub fn record(
        &self,
        compiled: &Compiled,
        compiled_at: Instant,
        latency: std::time::Duration,
    ) -> CompileRecord {
        let trace = &compiled.trace;
        let stamp = compiled_at.micros().to_le_bytes();
        let id =
            tenure::Digest::of_parts([trace.input_digest.bytes().as_slice(), &stamp]).to_string();
        CompileRecord {
            record_id: format!("rec-{}", &id["sha256:".len()..][..16]),
            compiled_at,
            compilation_latency_us: u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
            usage: None,
            downstream_retries: 0,
            compiler: tenure::COMPILER,
            trace: trace.clone(),
        }
    }
}

impl Workspace {
    /// The pointer to these bytes once they are kept; nothing is written but the key, where there was none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no frame key and none can be made.
    pub fn pointer(&self, content: &[u8]) -> Result<Pointer, Error> {
        Ok(Pointer::to(&self.frame_key()?, content))
    }

    /// Keeps these bytes under the workspace's key.
    ///
    /// # Errors
    ///
    /// As [`Originals::keep`], and when there is no frame key and none can be made.
    pub fn keep(&self, originals: &Originals, content: &[u8]) -> Result<Pointer, Error> {
        originals.keep(&self.frame_key()?, content)
    }

    /// The bytes of an original that was kept under the workspace's key.
    ///
    /// # Errors
    ///
    /// As [`Originals::read`].
    pub fn rehydrate(&self, originals: &Originals, id: PointerId) -> Result<Vec<u8>, Error> {
        // A search that cannot find anything makes no key.
        if !originals.may_hold(id)? {
            return Err(originals.missing(id));
        }
        originals.read(&self.frame_key()?, id)
    }

    /// Like `rehydrate`, from the first of several places that has it. Where none has, what the last says.
    ///
    /// # Errors
    ///
    /// As [`Originals::read`].
    pub fn rehydrate_from(&self, places: &[Originals], id: PointerId) -> Result<Vec<u8>, Error> {
        let mut told = Error::input(format!("no path for the original {id}"));
        for originals in places {
            match self.rehydrate(originals, id) {
                Err(error) if matches!(error.kind, ErrorKind::Input | ErrorKind::NotFound) => {
                    told = error;
                }
                found => return found,
            }
        }
        Err(told)
    }
}

/// The texts of a request whose vectors are wanted: its query, what else it asks, and the questions that the query asks.
fn asked_texts<'r>(request: &'r Request, facts: &Facts) -> Vec<Cow<'r, str>> {
    let query = request.query_text();
    let parts: Vec<String> = facts.subqueries(&query).to_vec();
    let query = std::iter::once(Cow::Owned(query));
    let further = request.further_texts();
    query.chain(further).chain(parts.into_iter().map(Cow::Owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::num::Score;
    use tenure::{Budget, ObjectDocument, Ruling};

    struct LikesCats;

    impl RelevanceScorer for LikesCats {
        fn relevance(&self, _: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
            assert!(
                !texts.iter().any(|text| text.contains("secret")),
                "not for the caller to see"
            );
            Ok(texts.iter().map(|text| text.contains("cat").then_some(Score::ONE)).collect())
        }
    }

    #[test]
    fn worlds_are_of_the_models_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.toml");
        std::fs::write(
            &path,
            "models.mine = { extends = \"gpt-4o\", window = 64000 }\n",
        )
        .unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        assert!(workspace.world("mine").is_err());
        let workspace = workspace.load_catalogue(&path).unwrap();
        let world = workspace.world("mine").unwrap();
        assert_eq!((world.model_name(), world.model().window), ("mine", 64_000));
        std::fs::write(&path, "\nmodels.mine = {}\n").unwrap();
        let error = Workspace::open(&path).unwrap().load_catalogue(&path).err();
        let at = error.unwrap().at.unwrap();
        assert_eq!((at.source, at.line), (path.display().to_string(), Some(2)));
    }

    struct AtAnd;

    impl Decomposer for AtAnd {
        fn decompose(&self, query: &str) -> Result<Vec<String>, Error> {
            Ok(query.split(" and ").map(str::to_owned).collect())
        }
    }

    #[test]
    fn a_task_is_taken_apart_once_and_its_parts_are_facts() {
        let workspace =
            Workspace::new(FrameKey::new("test", [7; 32])).unwrap().with_decomposer(AtAnd);
        let world = workspace.world("gpt-4o").unwrap();
        let request = Request::new("Feed the cat and water the fern", Budget::tokens(1_000));
        let object = ObjectDocument::named("fern", "The fern is green.").seal();
        let candidates = Candidates::new(vec![object.unwrap()]);
        let policy = Policy::preset("standard").unwrap();
        let facts = workspace.answer(&world, &policy, &request, &candidates).unwrap();
        let parts = ["Feed the cat", "water the fern"];
        assert_eq!(facts.subqueries(&request.query_text()), parts);
        // Their vectors are known as well.
        for part in parts {
            let part = tenure::Digest::of(part.as_bytes());
            assert!(facts.similarity(&part, &part).is_some());
        }
        // Where others say what is relevant, or a plan what is asked, nobody is asked.
        let supplied = Policy::from_toml("scorer = \"supplied\"").unwrap();
        let none = workspace.answer(&world, &supplied, &request, &candidates).unwrap();
        assert!(none.subqueries(&request.query_text()).is_empty());
    }

    #[test]
    fn a_supplied_scorer_decides_and_what_it_leaves_open_is_noted() {
        let workspace =
            Workspace::new(FrameKey::new("test", [7; 32])).unwrap().with_scorer(LikesCats);
        let world = workspace.world("gpt-4o").unwrap();
        let policy = "scorer = \"supplied\"\nguidance = { near = 0.0 }";
        let policy = Policy::from_toml(policy).unwrap();
        let rules = ["Feed the cat.", "Walk the dog."];
        let mut objects =
            rules.map(|text| ObjectDocument::named(text, text).seal().unwrap()).to_vec();
        let secret = ObjectDocument {
            tenant_id: Some("other".into()),
            ..ObjectDocument::named("s", "A secret cat.")
        };
        objects.push(secret.seal().unwrap());
        let candidates = Candidates::new(objects);
        let request = Request::new("Pets.", Budget::tokens(400));
        let outcome = workspace.compile(&world, &policy, &request, &candidates).unwrap();
        let trace = &outcome.single().unwrap().trace;
        assert_eq!(trace.verdicts[0].score.unwrap().relevance, Score::ONE);
        assert_eq!(trace.verdicts[1].verdict, Ruling::Included);
        let note = serde_json::to_value(&trace.notes).unwrap();
        assert_eq!(note[0]["code"], "fact_missing");
        assert_eq!(note[0]["name"], "Walk the dog.");
    }
}

//! Thresholds from the files of PAL (Performance Analysis of Logs,
//! <https://github.com/clinthuffman/PAL>).
//!
//! A file has analyses, each with the counters that it is about and thresholds written in
//! PowerShell. Most thresholds are one call of `StaticThreshold` with a constant, and most others compute the
//! limit first. A threshold that [`script`] cannot run is [listed as not evaluated](Unevaluated).

mod script;
mod tokens;

use super::threshold::{CounterSet, ObjectNames, Threshold, ThresholdLevel};
use perfhive_engine::{Catalogue, CounterPath, NamePattern, Snapshot, TitleSet};
use perfhive_format::TitleIndex;
use regex_lite::Regex;
use roxmltree::{Document, Node, ParsingOptions};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The analyses and questions of PAL's files.
#[derive(Clone, Debug, Default)]
pub struct PalRules {
    analyses: Vec<Analysis>,
    known: HashSet<String>,
    /// The questions that the files ask: the name of the answer's variable as the file writes it, and the text of
    /// the question. The key is the variable's name in lower case.
    questions: HashMap<String, (String, String)>,
}

/// An `ANALYSIS` element: the counters that it collects, and the thresholds on them.
#[derive(Clone, Debug)]
struct Analysis {
    name: String,
    file: Arc<str>,
    sources: Vec<DataSource>,
    rules: Vec<Rule>,
}

/// A `DATASOURCE` element: counters, and the variable by which scripts name them.
#[derive(Clone, Debug)]
struct DataSource {
    /// The name of the collection's variable in PowerShell, in lower case.
    variable: String,
    /// The counters of the collection, or the reason why perfhive cannot find them.
    counters: Result<CounterSet, String>,
}

/// A `THRESHOLD` element: its title, its severity, and the script that compares values.
#[derive(Clone, Debug)]
struct Rule {
    title: String,
    severity: ThresholdLevel,
    code: String,
}

/// A threshold, or a number of instances, that a report does not evaluate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unevaluated {
    /// The names of the analysis and of the threshold, `Analysis: Threshold`; or the number of
    /// instances and their object.
    pub title: String,
    /// The file that has the threshold; `perfhive` for instances.
    pub origin: Arc<str>,
    /// Why the threshold or the instances are not evaluated, in words that follow the title (`asks
    /// for ...`), with a remedy if there is one.
    pub reason: String,
}

/// The thresholds of [`PalRules`] for one recording.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The thresholds that can be evaluated.
    pub thresholds: Vec<Threshold>,
    /// The thresholds that cannot be evaluated.
    pub unevaluated: Vec<Unevaluated>,
    /// The number of thresholds on counters that the recording does not have.
    pub without_counters: usize,
}

impl PalRules {
    /// Adds the thresholds of a file; `text` is the file's contents and `name` its name for messages. An analysis
    /// that is disabled, or that has the ID of an earlier one, is left out. Returns the names of the files from which
    /// this file inherits.
    ///
    /// # Errors
    /// A text that says why `text` is not a file of PAL.
    pub fn add(&mut self, name: &str, text: &str) -> Result<Vec<String>, String> {
        let text = text.trim_start_matches('\u{feff}');
        let options = ParsingOptions { nodes_limit: 1 << 20, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|error| format!("is not XML: {error}"))?;
        let root = document.root_element();
        if root.tag_name().name() != "PAL" {
            return Err(format!(
                "is not a file of PAL: its root is <{}>, not <PAL>",
                root.tag_name().name()
            ));
        }
        let file: Arc<str> = name.into();
        for question in children(root, "QUESTION") {
            if let Some(variable) = question.attribute("QUESTIONVARNAME") {
                let text = question.text().unwrap_or_default();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let question = (variable.to_string(), text);
                self.questions.entry(variable.to_lowercase()).or_insert(question);
            }
        }
        for node in children(root, "ANALYSIS") {
            let is_enabled = node.attribute("ENABLED") != Some("False");
            let id = node.attribute("ID").unwrap_or_default().to_lowercase();
            if is_enabled && (id.is_empty() || self.known.insert(id)) {
                self.analyses.push(Analysis::of(node, &file));
            }
        }
        let inherited = children(root, "INHERITANCE").filter_map(|node| node.attribute("FILEPATH"));
        Ok(inherited.filter(|name| !name.is_empty()).map(str::to_string).collect())
    }

    /// The number of thresholds in all analyses.
    #[must_use]
    pub fn count(&self) -> usize {
        self.analyses.iter().map(|analysis| analysis.rules.len()).sum()
    }

    /// The thresholds for a recording. Its `first` sample shows how many instances its objects have.
    /// `answers` has the answers to the files' questions; the key is the variable's name in lower case.
    #[must_use]
    pub fn prepare(
        &self,
        catalogue: &Catalogue,
        titles: &TitleSet,
        first: &Snapshot,
        answers: &HashMap<String, String>,
    ) -> Prepared {
        let mut prepared = Prepared::default();
        for analysis in &self.analyses {
            for rule in &analysis.rules {
                let world =
                    Recording { catalogue, titles, first, answers, questions: &self.questions };
                analysis.prepare(rule, &world, &mut prepared);
            }
        }
        prepared
    }
}

fn children<'a, 'd: 'a>(
    node: Node<'a, 'd>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

impl Analysis {
    fn of(node: Node<'_, '_>, file: &Arc<str>) -> Self {
        let rule = |node: Node<'_, '_>| Rule {
            title: node.attribute("NAME").unwrap_or_default().trim().to_string(),
            severity: match node.attribute("CONDITION") {
                Some(condition) if condition.eq_ignore_ascii_case("critical") => {
                    ThresholdLevel::Critical
                }
                _ => ThresholdLevel::Warning,
            },
            code: children(node, "CODE").filter_map(|code| code.text()).collect(),
        };
        Self {
            name: node.attribute("NAME").unwrap_or_default().trim().to_string(),
            file: Arc::clone(file),
            sources: children(node, "DATASOURCE").map(DataSource::of).collect(),
            rules: children(node, "THRESHOLD").map(rule).collect(),
        }
    }

    /// Runs the script of a rule, and adds to `out` a threshold for each call of `StaticThreshold` that the script
    /// makes. If the script cannot be run, or the counters of a call cannot be found out, the reason is added and the
    /// rest of the rule is skipped. A rule or call on counters that the recording lacks is only counted.
    fn prepare(&self, rule: &Rule, recording: &Recording<'_>, out: &mut Prepared) {
        let world = RuleWorld { analysis: self, recording, counted: RefCell::default() };
        let title = format!("{}: {}", self.name, rule.title);
        let mut left_out = |reason: String| {
            let origin = Arc::clone(&self.file);
            out.unevaluated.push(Unevaluated { title: title.clone(), origin, reason });
        };
        // A rule whose counters the recording does not have is only counted, whether it could be run or not.
        let of_log = self.sources.iter().filter_map(|source| source.counters.as_ref().ok());
        if of_log.clone().next().is_some()
            && of_log.clone().all(|counters| recording.find(counters).is_empty())
        {
            out.without_counters += 1;
            return;
        }
        let mut counting = &world;
        let calls = match script::run(&rule.code, &mut counting) {
            Ok(calls) => calls,
            Err(reason) => return left_out(reason),
        };
        for call in calls {
            let source = self.sources.iter().find(|source| source.variable == call.collection);
            let counters = match source.map(|source| &source.counters) {
                Some(Ok(counters)) => counters,
                Some(Err(why)) => return left_out(why.clone()),
                None => return left_out(format!("compares \"${}\"", call.collection)),
            };
            if recording.find(counters).is_empty() {
                out.without_counters += 1;
                continue;
            }
            out.thresholds.push(Threshold {
                title: title.as_str().into(),
                severity: rule.severity,
                origin: Arc::clone(&self.file),
                comparison: call.comparison,
                limit: call.limit,
                is_trend: call.is_trend,
                counters: counters.clone(),
                counted: world.counted.borrow().clone(),
            });
        }
    }
}

impl DataSource {
    fn of(node: Node<'_, '_>) -> Self {
        let attribute = |name| node.attribute(name).unwrap_or_default();
        let variable = attribute("COLLECTIONVARNAME").to_lowercase();
        let counters = match attribute("TYPE") {
            "CounterLog" => counters_of(node),
            _ => Err(format!(
                "compares values that PAL generates: {}",
                attribute("EXPRESSIONPATH").trim()
            )),
        };
        Self { variable, counters }
    }
}

/// The counters that a `DATASOURCE` element names, or the reason why perfhive cannot find them.
fn counters_of(node: Node<'_, '_>) -> Result<CounterSet, String> {
    let attribute = |name| node.attribute(name).unwrap_or_default();
    let is_set = |name| attribute(name).eq_ignore_ascii_case("true");
    let text = attribute("EXPRESSIONPATH").trim();
    let path: CounterPath =
        text.parse().map_err(|error| format!("has the path {text:?}: {error}"))?;
    if is_set("ISCOUNTERNAMEREGULAREXPRESSION") || is_set("ISCOUNTERINSTANCEREGULAREXPRESSION") {
        return Err("finds counters or instances by a regular expression".to_string());
    }
    let instance = path.instance.as_ref().map(|instance| instance.name.clone());
    let object = if is_set("ISCOUNTEROBJECTREGULAREXPRESSION") {
        let whole = attribute("REGULAREXPRESSIONCOUNTERPATH").trim();
        let expression = object_expression(whole, instance.is_some());
        let regex = expression.and_then(|one| Regex::new(&format!("(?i)^(?:{one})$")).ok());
        let regex =
            regex.ok_or_else(|| format!("finds objects by the regular expression {whole:?}"))?;
        ObjectNames::Regex(Box::new(regex))
    } else {
        ObjectNames::Pattern(path.object.clone())
    };
    let without = children(node, "EXCLUDE").filter_map(|node| node.attribute("INSTANCE"));
    Ok(CounterSet {
        object,
        instance,
        counter: path.counter.clone(),
        without: without.map(NamePattern::with_wildcards).collect(),
        path: text.into(),
    })
}

/// The part of a regular expression for a whole path that matches the object: `(MSSQL|SQLServer).*:Locks` of
/// `\(MSSQL|SQLServer).*:Locks(*)\Waits/sec`. `has_instances` says that the path has an instance in parentheses behind
/// the object. `None` if the path has another form.
fn object_expression(path: &str, has_instances: bool) -> Option<&str> {
    let (object, _) = path.strip_prefix('\\')?.rsplit_once('\\')?;
    match has_instances {
        false => Some(object),
        true => object.strip_suffix(')')?.rsplit_once('(').map(|(object, _)| object),
    }
}

/// The recording for which a rule is prepared, and the answers of the user.
struct Recording<'a> {
    catalogue: &'a Catalogue,
    titles: &'a TitleSet,
    first: &'a Snapshot,
    answers: &'a HashMap<String, String>,
    questions: &'a HashMap<String, (String, String)>,
}

impl Recording<'_> {
    /// The recording's counters that belong to a set, each by the title indexes of its object and
    /// of itself.
    fn find(&self, counters: &CounterSet) -> Vec<(TitleIndex, TitleIndex)> {
        counters.find(&self.catalogue.objects, self.titles)
    }

    /// How many instances of these counters the first sample has: each counter counts 1 for each of
    /// its object's instances that `counters` accepts, and 1 for an object without instances.
    fn count(&self, counters: &CounterSet) -> u64 {
        let found = self.find(counters);
        let of = |(object, _): &(TitleIndex, TitleIndex)| {
            let object = self.first.object(*object)?;
            if !object.view().has_instances() {
                return Some(1);
            }
            let labels = object.labels();
            Some(labels.iter().filter(|label| counters.has(Some(label))).count() as u64)
        };
        found.iter().filter_map(of).sum()
    }
}

/// The recording and the answers as the script of one rule reads them; `counted` has the sets of
/// counters that the script counted, each with its number of instances.
struct RuleWorld<'a> {
    analysis: &'a Analysis,
    recording: &'a Recording<'a>,
    counted: RefCell<Vec<(CounterSet, u64)>>,
}

impl script::World for &RuleWorld<'_> {
    fn count(&mut self, collection: &str) -> Option<f64> {
        let source = self.analysis.sources.iter().find(|one| one.variable == collection)?;
        let counters = source.counters.as_ref().ok()?;
        let count = self.recording.count(counters);
        self.counted.borrow_mut().push((counters.clone(), count));
        Some(count as f64)
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        let answer = self.recording.answers.get(name).cloned();
        answer.ok_or_else(|| match self.recording.questions.get(name) {
            Some((name, question)) => {
                let short = question.split_inclusive(['?', '.']).next().unwrap_or_default();
                format!("asks for {name}: {short} (--answer {name}=VALUE)")
            }
            None => format!("uses \"${name}\", which nothing sets"),
        })
    }

    fn variable(&mut self, name: &str) -> Result<f64, String> {
        let answer = self.text(name)?;
        answer
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| format!("takes the answer {name}={answer} as a number"))
    }
}

/// A recording that has every counter, and an answer to every question.
#[cfg(any(test, fuzzing))]
struct Everything<'a>(&'a Analysis, &'a PalRules);

#[cfg(any(test, fuzzing))]
impl script::World for Everything<'_> {
    fn count(&mut self, collection: &str) -> Option<f64> {
        let source = self.0.sources.iter().find(|source| source.variable == collection)?;
        source.counters.is_ok().then_some(5.0)
    }

    fn variable(&mut self, name: &str) -> Result<f64, String> {
        self.1.questions.get(name).map(|_| 16.0).ok_or_else(|| format!("asks for {name}"))
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        self.variable(name).map(|_| "64-bit Windows".to_string())
    }
}

/// Reads a text as a file of PAL's and runs each of its thresholds. The fuzz target calls it.
#[cfg(fuzzing)]
pub fn fuzz_pal(text: &str) {
    let mut rules = PalRules::default();
    if rules.add("file", text).is_ok() {
        for analysis in &rules.analyses {
            for rule in &analysis.rules {
                let _ = script::run(&rule.code, &mut Everything(analysis, &rules));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_thresholds_of_pals_own_files_can_be_evaluated() {
        let Some(root) = perfhive_testkit::real::root() else { return };
        let files = ["SystemOverview", "QuickSystemOverview", "SQLServer2012", "IIS", "HyperV30"];
        let (mut rules, mut inherited) = (PalRules::default(), 0);
        for file in files {
            let path = root.join("pal-thresholds").join(format!("{file}.xml"));
            let Ok(text) = std::fs::read_to_string(path) else { return };
            inherited += rules.add(file, &text).expect("a file of PAL's").len();
        }
        let mut evaluated = 0;
        let mut reasons = Vec::new();
        for analysis in &rules.analyses {
            for rule in &analysis.rules {
                let run = script::run(&rule.code, &mut Everything(analysis, &rules));
                let source = |call: &script::Call| {
                    let mut sources = analysis.sources.iter();
                    sources.find(|source| source.variable == call.collection).cloned()
                };
                let known = |call: &script::Call| source(call).is_some_and(|s| s.counters.is_ok());
                match run {
                    Ok(calls) if !calls.is_empty() && calls.iter().all(known) => evaluated += 1,
                    Ok(_) => {}
                    Err(reason) => reasons.push(reason),
                }
            }
        }
        assert_eq!((rules.count(), inherited, evaluated), (187, 6, 165), "{reasons:#?}");
    }

    #[test]
    fn damaged_files_and_scripts_are_errors_or_rules_and_never_panic() {
        let Some(root) = perfhive_testkit::real::root() else { return };
        let path = root.join("pal-thresholds/QuickSystemOverview.xml");
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let mut rules = PalRules::default();
        rules.add("a", &text).expect("a file of PAL's");
        let mut runs = 0;
        for analysis in &rules.analyses {
            for rule in &analysis.rules {
                let mut world = Everything(analysis, &rules);
                let places = rule.code.char_indices().map(|(at, _)| at);
                for at in places.step_by(1 + rule.code.len() / 16) {
                    let (before, rest) = rule.code.split_at(at);
                    let _ = script::run(before, &mut world);
                    for change in ["(", "$", "{", "\"", "-", "9e9999", "[Int]"] {
                        let _ = script::run(&format!("{before}{change}{rest}"), &mut world);
                        runs += 1;
                    }
                }
            }
        }
        assert!(runs > 5_000, "{runs}");
        // The file is cut, or gets a `<`, at some 90 places.
        for at in (0..text.len()).step_by(2503).filter(|at| text.is_char_boundary(*at)) {
            let (before, rest) = text.split_at(at);
            let _ = PalRules::default().add("cut", before);
            let _ = PalRules::default().add("changed", &format!("{before}<{rest}"));
        }
        // A document that would grow by its own entities.
        let bomb = "<!DOCTYPE PAL [<!ENTITY a \"aaaaaaaaaa\">]><PAL>&a;</PAL>";
        assert!(PalRules::default().add("bomb", bomb).is_err());
    }
}

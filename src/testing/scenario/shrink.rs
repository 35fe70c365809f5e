//! Shortens a script that fails: removes whatever can be removed while it still fails.

use super::data::{Scenario, ScenarioAct, ScenarioStep};

/// The shortest script found that `fails`, made from one that does.
#[must_use]
pub fn shrink(scenario: &Scenario, mut fails: impl FnMut(&Scenario) -> bool) -> Scenario {
    let mut best = scenario.clone();
    loop {
        let shorter = candidates(&best).into_iter().find(|candidate| fails(candidate));
        match shorter {
            Some(shorter) => best = shorter,
            None => return best,
        }
    }
}

/// All scripts with one item removed.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        if candidate != *scenario {
            found.push(candidate);
        }
    };
    for index in 0..scenario.steps.len() {
        add(&|scenario| drop(scenario.steps.remove(index)));
    }
    for index in 0..scenario.items.len() {
        add(&|scenario| drop(scenario.items.remove(index)));
    }
    for (index, step) in scenario.steps.iter().enumerate() {
        let ScenarioStep::Act(act, disturbances) = step else { continue };
        for at in 0..disturbances.len() {
            add(&|scenario| {
                if let ScenarioStep::Act(_, disturbances) = &mut scenario.steps[index] {
                    disturbances.remove(at);
                }
            });
        }
        for shorter in shorter_acts(act) {
            add(&|scenario| {
                if let ScenarioStep::Act(act, _) = &mut scenario.steps[index] {
                    act.clone_from(&shorter);
                }
            });
        }
    }
    let machine = scenario.machine;
    add(&|scenario| scenario.machine = super::data::Profile { process: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { sync_each: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { orders: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { no_births: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { reuse: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { cold: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { fuse: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { small_history: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { contended: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { warm: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { uncounted: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { few: false, ..machine });
    add(&|scenario| scenario.machine = super::data::Profile { lower: false, ..machine });
    found
}

fn shorter_acts(act: &ScenarioAct) -> Vec<ScenarioAct> {
    let mut found = Vec::new();
    match act {
        ScenarioAct::Apply(asks, terms) => {
            for at in 0..asks.len() {
                let mut asks = asks.clone();
                asks.remove(at);
                found.push(ScenarioAct::Apply(asks, terms.clone()));
            }
            found.push(ScenarioAct::Apply(asks.clone(), super::data::ScenarioTerms { key: None, ..terms.clone() }));
            found.push(ScenarioAct::Apply(
                asks.clone(),
                super::data::ScenarioTerms { idempotent: false, ..terms.clone() },
            ));
            for gate in shorter_gates(terms.check.as_ref()) {
                found.push(ScenarioAct::Apply(
                    asks.clone(),
                    super::data::ScenarioTerms { check: gate, ..terms.clone() },
                ));
            }
        }
        ScenarioAct::Stage(number, asks) => {
            for at in 0..asks.len() {
                let mut asks = asks.clone();
                asks.remove(at);
                found.push(ScenarioAct::Stage(*number, asks));
            }
        }
        ScenarioAct::Commit(number, gate) => {
            found.extend(shorter_gates(gate.as_ref()).into_iter().map(|gate| ScenarioAct::Commit(*number, gate)));
        }
        _ => {}
    }
    found
}

fn shorter_gates(gate: Option<&super::data::ScenarioCheck>) -> Vec<Option<super::data::ScenarioCheck>> {
    let Some(gate) = gate else { return Vec::new() };
    let mut found = vec![None];
    for at in 0..gate.deeds.len() {
        let mut gate = gate.clone();
        gate.deeds.remove(at);
        found.push(Some(gate));
    }
    found
}

#!/usr/bin/env bash
# Tests of .githooks in temporary repositories: commit_msg_test.sh SOURCE_DIR
# shellcheck disable=SC2317,SC2016  # functions are called by name; hooks expand their own "$1"
# Each function named test_* runs in a new repository whose hooks are active and whose first commit is signed.
set -euo pipefail
source_dir=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset "${!GIT_@}" PARHELION_FORWARDED_HOOK
export HOME=$scratch GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true
git config --global user.name Tester
git config --global user.email tester@example.org
git config --global init.defaultBranch main

checklist=docs/design-review.md

digits() { git cat-file blob ":$checklist" | sha256sum | cut -c1-4; }
signature() { echo "Design-Signed-Off-By: Tester; design-review=${1:-$(digits)}"; }
change() { echo "$RANDOM$RANDOM" >> file && git add file; }
signed_commit() { git commit -q -m "$1" -m "$(signature)"; }

new_repository() {
  git init -q "$1"
  cd "$1"
  cp -R "$source_dir/.githooks" .githooks
  rm .githooks/reference-transaction .githooks/post-index-change  # run many times a commit; see their test
  mkdir -p docs tools
  cp "$source_dir/tools/install-hooks" tools/
  cp "$source_dir/.clang-format" .
  echo "a checklist" > "$checklist"
  git add "$checklist"
  git config core.hooksPath .githooks
  signed_commit "first"
}

fail_test() { echo "  $1" >&2; return 1; }

# accepted COMMAND...: the command succeeds and makes a commit.
accepted() {
  local before
  before=$(git rev-parse HEAD)
  "$@" > output 2>&1 || { cat output >&2; fail_test "refused: $*"; }
  [[ $(git rev-parse HEAD) != "$before" ]] || fail_test "no commit: $*"
}

# refused TEXT COMMAND...: the command fails, says TEXT, commits nothing and keeps the digits secret.
refused() {
  local text=$1 before
  before=$(git rev-parse HEAD)
  shift
  if "$@" > output 2>&1; then fail_test "accepted: $*"; fi
  [[ $(git rev-parse HEAD) == "$before" ]] || fail_test "committed: $*"
  grep -qF -- "$text" output || { cat output >&2; fail_test "does not say '$text': $*"; }
  if grep -qi "$(digits)" output; then fail_test "prints the expected digits: $*"; fi
}

# with_message TEXT ARGUMENT...: commits with TEXT as the message file, escapes expanded.
with_message() {
  printf '%b' "$1" > message
  git commit "${@:2}" -F message
}

# hook FILE: makes FILE a hook that notes its name and arguments in the file ran.
hook() {
  mkdir -p "${1%/*}"
  printf '#!/bin/sh\necho "%s $*" >> "%s/ran"\n' "$1" "$PWD" > "$1"
  chmod +x "$1"
}

test_accepts_a_signed_message() {
  change
  accepted git commit -m subject -m body -m "$(signature)"
}

test_accepts_several_trailers_in_any_order() {
  change
  accepted git commit -m subject -m "Co-authored-by: A <a@example.org>
$(signature)
Signed-off-by: B <b@example.org>"
  change
  accepted git commit -m subject -m "$(signature 0000x)
$(signature)"
}

test_refuses_a_message_without_signature() {
  change
  refused "has no design sign-off" git commit -m subject -m "Signed-off-by: A <a@example.org>"
  refused "Design-Signed-Off-By: <your name>; design-review=<digits>" git commit -m subject
  refused "SHA-256" git commit -m subject
}

test_refuses_a_signature_outside_the_trailers() {
  change
  refused "has no design sign-off" git commit -m "$(signature)"
  refused "has no design sign-off" git commit -m subject -m "$(signature)" -m "a last paragraph"
  refused "has no design sign-off" git commit -m subject -m "prose says: $(signature)"
}

test_refuses_other_digits() {
  change
  local wrong
  wrong=$(digits | tr '0-9a-f' '1-9a-f0')
  refused "given for another state" git commit -m subject -m "$(signature "$wrong")"
}

test_refuses_a_malformed_signature() {
  change
  local right
  right=$(sha256sum < "$checklist")
  printf 'subject\n\nDesign-Signed-Off-By: ; design-review=%s\n' "$(digits)" > message
  refused "not of the form" git commit -F message
  refused "not of the form" git commit -m subject -m "Design-Signed-Off-By: Tester"
  refused "not of the form" git commit -m subject -m "$(signature "${right:0:3}")"
  refused "not of the form" git commit -m subject -m "$(signature zzzz)"
}

test_reads_the_staged_checklist_not_the_file() {
  local old
  old=$(digits)
  change
  echo "unstaged" >> "$checklist"
  accepted git commit -m subject -m "$(signature "$old")"
  git add "$checklist"
  refused "given for another state" git commit -m subject -m "$(signature "$old")"
  accepted git commit -m subject -m "$(signature)"
}

test_reads_the_index_of_a_partial_commit() {
  local old
  old=$(digits)
  echo "staged" >> "$checklist"
  git add "$checklist"
  change
  accepted git commit -m "only file" -m "$(signature "$old")" -- file
}

test_refuses_without_a_checklist() {
  local old
  old=$(digits)
  git rm -q --cached "$checklist"
  if git commit -m subject -m "$(signature "$old")" > output 2>&1; then fail_test "accepted"; fi
  grep -q "is not staged" output
}

test_never_traces_the_digits() {
  change
  refused "+" env SHELLOPTS=xtrace git commit -m subject -m "$(signature 0000)"
  refused "trace" env GIT_TRACE=1 GIT_TRACE_SETUP=1 git commit -m subject
  echo subject > message
  refused "no design sign-off" bash -xv .githooks/commit-msg message
}

test_accepts_crlf() {
  change
  accepted with_message "subject\r\n\r\nbody\r\n\r\n$(signature)\r\n" --cleanup=verbatim
}

test_works_with_every_cleanup_mode() {
  local mode
  for mode in default strip whitespace verbatim scissors; do
    git config commit.cleanup "$mode"
    change
    accepted with_message "subject\n\n$(signature)\n# a comment\n" --edit
    change
    refused "no design sign-off" with_message "subject\n\n# $(signature)\n" --edit
    accepted with_message "subject\n\n$(signature)\n# a comment\n" --edit --verbose
  done
}

test_ignores_a_signature_below_the_scissors() {
  git config commit.cleanup scissors
  change
  refused "no design sign-off" with_message \
    "subject\n\n# ------------------------ >8 ------------------------\n\n$(signature)\n" --edit
}

test_ignores_a_signature_in_a_verbose_diff() {
  signature > file
  git add file
  refused "no design sign-off" with_message "subject\n" --edit --verbose
}

test_works_with_other_comment_characters() {
  local char
  for char in ';' auto; do
    git config core.commentChar "$char"
    change
    accepted with_message "subject\n\n# no comment\n\n$(signature)\n" --edit
    change
    accepted with_message "subject\n\n# no comment\n\n$(signature)\n" --edit --verbose
  done
}

test_amends() {
  change
  accepted git commit --amend --no-edit
  echo "more" >> "$checklist"
  git add "$checklist"
  refused "given for another state" git commit --amend --no-edit
  accepted git commit --amend -m subject -m "$(signature)"
}

test_merges() {
  git checkout -q -b side
  echo "other" > "$checklist"
  git add "$checklist"
  signed_commit "side"
  local merged
  merged=$(digits)
  git checkout -q main
  change
  signed_commit "main"
  refused "has no design sign-off" git merge --no-edit side
  git merge --abort
  accepted git merge -m "merge side" -m "$(signature "$merged")" side
}

test_makes_and_squashes_fixups() {
  change
  signed_commit "second"
  change
  accepted git commit --fixup HEAD --trailer "$(signature)"
  accepted git rebase -q -i --autosquash HEAD~2
  [[ $(git rev-list --count HEAD) == 2 ]] || fail_test "not squashed"
}

test_works_in_a_worktree() {
  git add .githooks
  signed_commit "hooks"
  git worktree add -q ../worktree -b other
  hook .git/hooks/commit-msg
  cd ../worktree
  change
  refused "has no design sign-off" git commit -m subject
  accepted git commit -m subject -m "$(signature)"
  grep -q commit-msg "$OLDPWD/ran" || fail_test "the common hook did not run"
}

test_works_in_a_subfolder() {
  mkdir -p folder
  cd folder
  change
  refused "has no design sign-off" git commit -m subject
  accepted git commit -m subject -m "$(signature)"
}

test_keeps_hooks_of_the_repository() {
  hook .git/hooks/commit-msg
  hook .git/hooks/pre-commit
  hook .git/hooks/prepare-commit-msg
  hook .git/hooks/post-commit
  change
  accepted git commit -m subject -m "$(signature)"
  [[ $(wc -l < ran) == 4 ]] || { cat ran >&2; fail_test "not every hook ran once"; }
  grep -q 'commit-msg .git/COMMIT_EDITMSG' ran || fail_test "arguments are lost"
}

test_lets_an_earlier_hook_refuse() {
  printf '#!/bin/sh\necho nothing today\nexit 3\n' > .git/hooks/commit-msg
  chmod +x .git/hooks/commit-msg
  change
  refused "nothing today" git commit -m subject -m "$(signature)"
}

test_sees_what_an_earlier_hook_writes() {
  printf '#!/bin/sh\ngit interpret-trailers --in-place --trailer "%s" "$1"\n' "$(signature)" > .git/hooks/commit-msg
  chmod +x .git/hooks/commit-msg
  change
  accepted git commit -m subject
}

test_passes_standard_input_to_earlier_hooks() {
  printf '#!/bin/sh\ncat > pushed\n' > .git/hooks/pre-push
  chmod +x .git/hooks/pre-push
  git init -q --bare ../remote
  git push -q ../remote main
  grep -q refs/heads/main pushed || fail_test "pre-push did not get its input"
}

test_keeps_hooks_of_a_global_directory() {
  hook "$PWD/shared_hooks/post-commit"
  git config --global core.hooksPath "$PWD/shared_hooks"
  change
  accepted git commit -m subject -m "$(signature)"
  git config --global --unset core.hooksPath
  [[ $(wc -l < ran) == 1 ]] || fail_test "the global hook did not run once"
}

test_installs_beside_a_configured_directory() {
  hook own_hooks/post-commit
  git config core.hooksPath own_hooks
  tools/install-hooks > output
  tools/install-hooks > output
  change
  refused "has no design sign-off" git commit -m subject
  accepted git commit -m subject -m "$(signature)"
  [[ $(wc -l < ran) == 1 ]] || fail_test "the configured hook did not run once"
}

test_survives_a_hook_that_calls_back() {
  printf '#!/bin/sh\nexec .githooks/commit-msg "$@"\n' > .git/hooks/commit-msg
  chmod +x .git/hooks/commit-msg
  change
  refused "has no design sign-off" timeout 20 git commit -m subject
  accepted timeout 20 git commit -m subject -m "$(signature)"
}

test_forwards_the_hooks_that_run_often() {
  cp "$source_dir"/.githooks/{reference-transaction,post-index-change} .githooks
  hook .git/hooks/reference-transaction
  hook .git/hooks/post-index-change
  change
  accepted git commit -m subject -m "$(signature)"
  git worktree add -q ../worktree -b other
  git rebase -q --force-rebase HEAD~1
  grep -q 'reference-transaction committed' ran || fail_test "reference-transaction did not run"
  grep -q post-index-change ran || fail_test "post-index-change did not run"
}

test_forwards_only_what_is_executable() {
  echo 'exit 1' > .git/hooks/pre-commit
  chmod -x .git/hooks/pre-commit
  change
  accepted git commit -m subject -m "$(signature)"
}

# A clang-format for machines without one: it dislikes two spaces.
test_refuses_unformatted_cpp_as_staged() {
  mkdir bin
  printf '#!/bin/sh\n! grep -q "  "\n' > bin/clang-format
  chmod +x bin/clang-format
  PATH=$PWD/bin:$PATH
  printf 'int  f( );\n' > file.h
  git add file.h
  printf 'int f();\n' > file.h
  refused "file.h is not formatted" git commit -m subject -m "$(signature)"
  git add file.h
  accepted git commit -m subject -m "$(signature)"
}

failed=0
for name in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
  result=0
  # A child shell, since bash ignores -e in a function called under a condition.
  (set -e; new_repository "$scratch/$name/repository"; "$name") & wait $! || result=$?
  if [[ $result == 0 ]]; then echo "ok $name"; else echo "FAILED $name"; failed=1; fi
done
exit "$failed"

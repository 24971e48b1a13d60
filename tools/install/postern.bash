# shellcheck shell=bash
# Completion of postern(1) in bash: nouns, verbs, options, names of files.
#
# The table is the program's own, put in by gen_docs: VERB|ARGUMENT|OPTIONS, each
# option behind a blank, with = when it takes a value.

_postern_verbs='
@COMPLETION@
'

# usage: _postern COMMAND WORD PREVIOUS
_postern() {
	local cur=$2 general=' --config= --json --help --version'
	local said=() value='' word chosen verb argument options words='' dashed='' files=''

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		if [[ $word == = ]]; then
			continue
		elif [[ $value ]]; then
			value=
		elif [[ $word != -* ]]; then
			said+=("$word")
		elif [[ " -c=$general$_postern_verbs" == *" $word="* ]]; then
			value=$word
		fi
	done

	# Some nouns have verbs, and are also a verb themselves.
	chosen=${said[0]-}
	[[ $_postern_verbs != *$'\n'"${said[*]:0:2}|"* ]] || chosen=${said[*]:0:2}
	while IFS='|' read -r verb argument options; do
		if [[ $verb && $verb == "$chosen" ]]; then
			dashed+=$options
			[[ $argument != *FILE* ]] || files=yes
		elif [[ ${#said[@]} -eq 0 ]]; then
			words+=" ${verb% *}"
		elif [[ ${#said[@]} -eq 1 && $verb == "${said[0]} "* ]]; then
			words+=" ${verb#* }"
		fi
	done <<<"$_postern_verbs"

	COMPREPLY=()
	case $value in
	-c | --config | --key-file | --postfix) files=yes words='' dashed='' general='' ;;
	?*) return ;;
	esac
	[[ $words && $cur != -* ]] || words=$dashed$general
	[[ $files && $cur != -* ]] && words=
	mapfile -t COMPREPLY < <(
		compgen -W "${words//=/}" -- "$cur" | sort -u
		[[ ! $files || $cur == -* ]] || compgen -f -- "$cur"
	)
}

complete -o filenames -F _postern postern

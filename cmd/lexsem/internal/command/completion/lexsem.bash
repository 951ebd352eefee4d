# bash completion of lexsem. Made by: lexsem completion bash
_lexsem() {
  local cur=${COMP_WORDS[COMP_CWORD]} offer= line word
  local -a words=()
  COMPREPLY=()
  # bash takes --flag=value for three words: without the "=" it reads like --flag value.
  if [[ $cur == "=" ]]; then cur=; fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == "=" ]] || words+=("$word")
  done
  while IFS= read -r line; do
    case $line in
      :none | :files | :folders) offer=$line ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" "=$cur" 2>/dev/null)
  case $offer in
    :files)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
      ;;
    :folders)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$cur")
      ;;
  esac
  # What a value goes on behind: openai:NAME.
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _lexsem lexsem

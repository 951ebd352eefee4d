#compdef lexsem
# zsh completion of lexsem. Made by: lexsem completion zsh
_lexsem() {
  local line offer=:none
  local -a lines known
  lines=("${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "=${(Q)PREFIX}" 2>/dev/null)}")
  for line in $lines; do
    case $line in
      :none | :files | :folders) offer=$line ;;
      *) known+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#known )) && _describe -t values 'lexsem' known
  case $offer in
    :files) compset -P '--*='; _files ;;
    :folders) compset -P '--*='; _files -/ ;;
  esac
}
if [[ $funcstack[1] == _lexsem ]]; then
  _lexsem "$@"
else
  compdef _lexsem lexsem
fi

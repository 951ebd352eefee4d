# fish completion of lexsem. Made by: lexsem completion fish
function __lexsem_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l file (string replace -r -- '^--[^=]*=' '' "$cur")
    set -l before (string replace -r -- '^(--[^=]*=)?.*$' '$1' "$cur")
    for line in ($program __complete $words "=$cur" 2>/dev/null)
        switch $line
            case :none
            case :files
                for path in (__fish_complete_path "$file")
                    echo "$before$path"
                end
            case :folders
                for path in (__fish_complete_directories "$file")
                    echo "$before$path"
                end
            case '*'
                echo $line
        end
    end
end
complete -c lexsem -f -a '(__lexsem_complete)'

#!/usr/bin/perl
# Applies an edit list to a source tree.
#
#     apply.pl EDITS PORT_DIR TREE
#
# An edit names its place by a function or an identifier and says how many hits it expects. All edits are
# checked; if one misses, the script says which, writes nothing, and ends with status 1. So a source that has
# changed stops the build with a word, instead of giving a program that is half converted.
#
# The list is read line by line; `#` starts a comment. HITS is a number.
#
#     file NAME                            what follows is about TREE/NAME
#     drop HITS FUNCTION                   remove a function: its definition and its declarations
#     undefine FUNCTION                    remove its definition, of which there is one, and keep declarations
#     rename HITS OLD NEW [in FUNCTION]    a whole identifier
#     erase HITS TOKENS [in FUNCTION]      remove these tokens; blanks between them are free
#     swap HITS TOKENS => TOKENS [in FUNCTION]
#     prepend TEXT                         a line at the start of the file
#     append TEXT                          a line at the end of the file
#     copy NAME                            PORT_DIR/NAME goes into the tree as it is

use strict;
use warnings;

my ($list, $port, $tree) = @ARGV;
die "usage: apply.pl EDITS PORT_DIR TREE\n" unless defined $tree;

my (%text, $file, $where, @misses);

# The text of a file of the tree, read once.
sub slurp {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!\n";
    local $/;
    return <$in>;
}

# The same text with comments, literals, directives and all branches of a condition but its first blanked out,
# so that positions stay and braces can be counted.
sub bare {
    my ($source) = @_;
    my $bare = '';
    $source =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')}
                {my $m = $1; $m =~ s/[^\n]/ /g; $m}gse;
    my (@hidden, $continued);
    for my $line ($source =~ /[^\n]*\n|[^\n]+$/g) {
        my $directive = $continued;
        if ($line =~ /^\s*#\s*(\w+)/) {
            my $word = $1;
            $directive = 1;
            push @hidden, 0 if $word =~ /^if/;
            $hidden[-1] = 1 if $word =~ /^el/;
            pop @hidden if $word eq 'endif';
        }
        $continued = $directive && $line =~ /\\\n$/;
        $line =~ s/[^\n]/ /g if $directive or grep { $_ } @hidden;
        $bare .= $line;
    }
    return $bare;
}

# Where the block ends that opens at or after `from`.
sub block_end {
    my ($bare, $from) = @_;
    my $depth = 0;
    pos($bare) = $from;
    while ($bare =~ /([{}])/g) {
        $depth += $1 eq '{' ? 1 : -1;
        return pos($bare) if $depth == 0;
    }
    die "$where: a block without an end\n";
}

# All places where a function is declared or defined at file scope: [start, end, is definition].
sub places {
    my ($source, $name) = @_;
    my $bare = bare($source);
    my @found;
    while ($bare =~ /^([A-Za-z_][\w \t\*]*?[\s\*])?\b\Q$name\E\s*(\((?:[^()]|(?2))*\))\s*([;{])/mg) {
        my ($start, $end, $mark) = ($-[0], $+[0], $3);
        $end = block_end($bare, $end - 1) if $mark eq '{';
        push @found, [$start, $end, $mark eq '{'];
        pos($bare) = $end;
    }
    return @found;
}

# The range of the file that an edit is about: a function's definition, or all.
sub range {
    my ($function) = @_;
    return (0, length $text{$file}) unless defined $function;
    my @defined = grep { $_->[2] } places($text{$file}, $function);
    miss("$function is defined " . @defined . ' times, expected once') and return () unless @defined == 1;
    return @{$defined[0]}[0, 1];
}

# A pattern that matches tokens with any blanks between them.
sub pattern {
    my ($tokens) = @_;
    my @tokens = $tokens =~ /[A-Za-z_]\w*|\d+|->|[^\s\w]/g;
    my $pattern = join '\s*', map { quotemeta } @tokens;
    $pattern = "(?<!\\w)$pattern" if $tokens[0] =~ /^\w/;
    $pattern = "$pattern(?!\\w)" if $tokens[-1] =~ /^\w/;
    return $pattern;
}

sub miss {
    my ($word) = @_;
    push @misses, "$where: $word";
    return 1;
}

# Puts `new` wherever `pattern` matches outside comments and strings, and compares the number of hits.
sub substitute {
    my ($hits, $pattern, $new, $function, $what) = @_;
    my ($start, $end) = range($function);
    return unless defined $end;
    my $bare = substr bare($text{$file}), $start, $end - $start;
    my @found;
    push @found, [$-[0] + $start, $+[0] - $-[0]] while $bare =~ /$pattern/g;
    my $place = defined $function ? "$function of $file" : $file;
    miss("'$what' was found " . @found . " times in $place, expected $hits") and return unless @found == $hits;
    substr($text{$file}, $_->[0], $_->[1]) = $new for reverse @found;
}

my (@copies, $edits);
open my $in, '<', $list or die "$list: $!\n";
while (my $line = <$in>) {
    $where = "$list:$.";
    $line =~ s/^\s+|\s+$//g;
    next if $line eq '' or $line =~ /^#/;
    $edits++;
    my $function = $line =~ s/ in (\w+)$// ? $1 : undef;
    if ($line =~ /^file (\S+)$/) {
        $file = $1;
        $text{$file} //= slurp("$tree/$file");
    } elsif ($line =~ /^copy (\S+)$/) {
        push @copies, $1;
    } elsif (!defined $file) {
        die "$where: no file has been named yet\n";
    } elsif ($line =~ /^drop (\d+) (\w+)$/) {
        my ($hits, $name) = ($1, $2);
        my @found = places($text{$file}, $name);
        miss("$name stands in $file " . @found . " times, expected $hits") and next unless @found == $hits;
        substr($text{$file}, $_->[0], $_->[1] - $_->[0]) = '' for reverse @found;
    } elsif ($line =~ /^undefine (\w+)$/) {
        my ($start, $end) = range($1);
        substr($text{$file}, $start, $end - $start) = '' if defined $end;
    } elsif ($line =~ /^rename (\d+) (\w+) (\w+)$/) {
        substitute($1, qr/\b\Q$2\E\b/, $3, $function, $2);
    } elsif ($line =~ /^swap (\d+) (.+?) => (.+)$/) {
        my ($hits, $old, $new) = ($1, $2, $3);
        substitute($hits, pattern($old), $new, $function, $old);
    } elsif ($line =~ /^erase (\d+) (.+)$/) {
        my ($hits, $old) = ($1, $2);
        substitute($hits, pattern($old), '', $function, $old);
    } elsif ($line =~ /^prepend (.+)$/) {
        $text{$file} = "$1\n$text{$file}";
    } elsif ($line =~ /^append (.+)$/) {
        $text{$file} .= "\n$1\n";
    } else {
        die "$where: not an edit: $line\n";
    }
}

if (@misses) {
    print STDERR "The source is not the one that these edits are for; nothing was changed.\n";
    print STDERR "  $_\n" for @misses;
    exit 1;
}
for my $name (sort keys %text) {
    open my $out, '>', "$tree/$name" or die "$tree/$name: $!\n";
    print $out $text{$name};
    close $out or die "$tree/$name: $!\n";
}
for my $name (@copies) {
    open my $out, '>', "$tree/$name" or die "$tree/$name: $!\n";
    print $out slurp("$port/$name");
    close $out or die "$tree/$name: $!\n";
}
printf "%d edits in %d files\n", $edits, scalar keys %text;

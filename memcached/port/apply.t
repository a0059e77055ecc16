#!/usr/bin/perl
# Tests of apply.pl: `prove memcached/port`.

use strict;
use warnings;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $apply = dirname($0) . '/apply.pl';
my $source = <<'END';
/* one(1) in a comment { */
static int one(int n);
static int two(int n);

static int one(int n) {
    return n + call(n); // call
}

int
two(int n)
{
    const char *brace = "} call(n)";
#ifdef A
    if (n) {
#else
    if (!n) {
        call ( n );
#endif
        call (n );
    }
    return brace[0];
}
END

# The status, what was said, and the file after `edits`.
sub applied {
    my ($edits) = @_;
    my $tree = tempdir(CLEANUP => 1);
    for (['a.c', $source], ['edits', "file a.c\n$edits"], ['extra.h', "extra\n"]) {
        open my $out, '>', "$tree/$_->[0]" or die $!;
        print $out $_->[1];
    }
    mkdir "$tree/port";
    rename "$tree/extra.h", "$tree/port/extra.h";
    my $said = qx($^X $apply $tree/edits $tree/port $tree 2>&1);
    my $status = $? >> 8;
    open my $in, '<', "$tree/a.c" or die $!;
    local $/;
    return ($status, $said, scalar(<$in>), -e "$tree/extra.h");
}

my ($status, $said, $text, $copied) = applied("drop 2 one\nrename 2 call other in two\n");
is $status, 1, 'a wrong number of hits is an error';
like $said, qr/edits:3: 'call' was found 1 times in two of a\.c, expected 2/, 'and says where, what and how many';
is $text, $source, 'and nothing is written, not even what matched';

($status, $said, $text) = applied("drop 2 one\n");
is $status, 0, 'dropping';
unlike $text, qr/int one\(/, 'takes the definition and the declaration';
like $text, qr/in a comment \{.*int two\(int n\);.*two\(int n\)\n\{/s, 'and nothing else';

($status, $said, $text) = applied("undefine one\n");
like $text, qr/static int one\(int n\);/, 'undefining keeps the declaration';
unlike $text, qr/return n/, 'and takes the body';

($status, $said, $text) = applied("swap 1 call(n) => met(n) in two\n");
is $status, 0, 'tokens match whatever blanks are between them';
like $text, qr/"\} call\(n\)"/, 'but not in strings';
like $text, qr/#else\n    if \(!n\) \{\n        call \( n \);/, 'nor in what another branch excludes';
like $text, qr/#endif\n        met\(n\);/, 'and the right place has changed';

($status, $said, $text) = applied("rename 1 call other in three\n");
is $status, 1, 'a function that is not there';
like $said, qr/three is defined 0 times/, 'is said to be missing';

($status, $said, $text, $copied) = applied("prepend first\nappend last\ncopy extra.h\n");
like $text, qr/\Afirst\n.*last\n\z/s, 'lines at both ends';
ok $copied, 'and a file of our own';

($status, $said) = applied("sway 1 a => b\n");
isnt $status, 0, 'a word that is no edit is an error';
like $said, qr/not an edit: sway/, 'and is named';

done_testing;

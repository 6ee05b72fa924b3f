# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by run-sim and run-vm: what both do before and after rknpu-demo. The picture is $IMAGE, any PNG or JPEG, or a
# photograph that a Debian package ships; it and the results are in build/demo/. Progress goes to stderr.

repo=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
out=$repo/build/demo
me=$(basename "$0")

say() { echo "$me: $*" >&2; }
die() { say "$*"; exit 1; }

# The photograph, kept in the cache; prints its path.
default_image() {
	local package=python3-sklearn path=usr/lib/python3/dist-packages/sklearn/datasets/images/china.jpg
	local cached=${XDG_CACHE_HOME:-$HOME/.cache}/rknpu/demo/china.jpg
	if [ ! -s "$cached" ]; then
		say "fetching a photograph from the package $package (2 MB)"
		local tmp
		tmp=$(mktemp -d)
		(cd "$tmp" && "$repo/tools/setup/private-apt" apt-get -qq download "$package" >&2) ||
			die "the package $package can't be fetched; name a picture with IMAGE="
		mkdir -p "$(dirname "$cached")"
		dpkg-deb --fsys-tarfile "$tmp/$package"_*.deb | tar -xOf - "./$path" >"$tmp/picture"
		mv "$tmp/picture" "$cached"
		rm -r "$tmp"
	fi
	echo "$cached"
}

# Makes $out/input.ppm of the picture: 8 bits a colour, at most 1280 pixels a side.
prepare_picture() {
	"$repo/tools/setup/install" demo
	local image=${IMAGE:-}
	[ -n "$image" ] || image=$(default_image)
	[ -r "$image" ] || die "$image can't be read"

	local decode
	case $(file --brief --mime-type --dereference "$image") in
	image/jpeg) decode=jpegtopnm ;;
	image/png) decode=pngtopnm ;;
	*) die "$image is neither a JPEG nor a PNG" ;;
	esac
	rm -rf "$out"
	mkdir -p "$out"
	$decode -quiet "$image" >"$out/decoded.pnm" || die "$image can't be decoded"
	local width height scale=cat
	read -r width height < <(pamfile -size "$out/decoded.pnm")
	[ "$width" -le 1280 ] && [ "$height" -le 1280 ] || scale='pamscale -quiet -xyfit 1280 1280'
	$scale <"$out/decoded.pnm" | pamdepth -quiet 255 | ppmtoppm -quiet >"$out/input.ppm"
	rm "$out/decoded.pnm"
	say "picture: $image, $width x $height pixels"
}

# The results as PNG beside the others, which remain what the demo wrote.
convert_results() {
	local picture
	for picture in "$out"/*.ppm "$out"/*.pgm; do
		[ ! -e "$picture" ] || pnmtopng -quiet "$picture" >"${picture%.*}.png"
	done
}

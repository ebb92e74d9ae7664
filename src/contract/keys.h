#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

using PublicKey = std::array<std::uint8_t, 32>;
/// The seed of an Ed25519 key pair (RFC 8032 calls it the private key).
using SecretKey = std::array<std::uint8_t, 32>;
using SignatureBytes = std::array<std::uint8_t, 64>;
/// The first bytes of the SHA-256 of a public key.
using KeyId = std::array<std::uint8_t, 16>;

/// A key whose signatures count, or no longer do.
struct TrustedKey {
  PublicKey key = {};
  std::string label = {};  ///< shown to people
  bool revoked = false;
};

/// Which cores may be read.
struct Trust {
  std::vector<TrustedKey> keys = {};
  bool allow_unsigned = false;  ///< also those without a signature of a trusted key
};

SecretKey make_secret_key();
PublicKey public_key(const SecretKey& secret);
KeyId key_id(const PublicKey& key);

/// An Ed25519 signature, and whether it is one of `message`. Source: RFC 8032.
SignatureBytes sign(std::span<const std::byte> message, const SecretKey& secret);
bool is_signature(const SignatureBytes& signature, std::span<const std::byte> message,
                  const PublicKey& key);

/// Lower-case hexadecimal digits.
std::string hex(std::span<const std::uint8_t> bytes);

/// Makes a new pair in `directory`: `<label>.key`, which only its owner may read, and
/// `<label>.pub`.
///
/// Errors: invalid if one of them is there already or the label is no plain file name.
PublicKey write_key_pair(const std::filesystem::path& directory, std::string_view label);

/// Errors: invalid if the file is missing, corrupt if it is no secret key.
SecretKey read_secret_key(const std::filesystem::path& path);

/// The public keys of a file, or of all `.pub` files of a directory. A line is
/// `parhelion-public-key ed25519 <64 hexadecimal digits> <label>`, or begins with
/// `parhelion-revoked-key`; empty lines and those that begin with # say nothing.
///
/// Errors: invalid if the path is missing, corrupt for a line that is none of these.
std::vector<TrustedKey> read_trust_store(const std::filesystem::path& path);

}  // namespace parhelion::contract

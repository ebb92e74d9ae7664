#include "contract/keys.h"

#include "base/error.h"
#include "base/file.h"
#include "base/in_context.h"
#include "contract/sodium_start.h"

#include <algorithm>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace parhelion::contract {
namespace {

constexpr std::string_view kPublicWord = "parhelion-public-key";
constexpr std::string_view kRevokedWord = "parhelion-revoked-key";
constexpr std::string_view kSecretWord = "parhelion-secret-key";
constexpr std::string_view kAlgorithm = "ed25519";
constexpr std::int64_t kMostKeyFileBytes = 1 << 20;

const unsigned char* data_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// libsodium's form of a secret key: seed and public key.
struct SodiumPair {
  PublicKey open = {};
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret = {};

  explicit SodiumPair(const SecretKey& seed) {
    start_sodium();
    crypto_sign_seed_keypair(open.data(), secret.data(), seed.data());
  }
  ~SodiumPair() { sodium_memzero(secret.data(), secret.size()); }
  SodiumPair(const SodiumPair&) = delete;
  SodiumPair& operator=(const SodiumPair&) = delete;
};

std::uint8_t hex_digit(char digit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t value = kDigits.find(digit);
  ensure(value != std::string_view::npos, ErrorKind::corrupt,
         "a key has other characters than 0-9 and a-f");
  return static_cast<std::uint8_t>(value);
}

std::array<std::uint8_t, 32> key_from_hex(std::string_view text) {
  std::array<std::uint8_t, 32> key = {};
  ensure(text.size() == 2 * key.size(), ErrorKind::corrupt, "a key has {} digits, expected {}",
         text.size(), 2 * key.size());
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
  return key;
}

/// A line of a key file.
struct KeyLine {
  std::string word, algorithm, digits, label;
};

KeyLine split_key_line(const std::string& line) {
  std::istringstream stream(line);
  KeyLine result;
  stream >> result.word >> result.algorithm >> result.digits >> std::ws;
  std::getline(stream, result.label);
  return result;
}

TrustedKey parse_trusted_key(const std::string& line) {
  KeyLine parts = split_key_line(line);
  const bool revoked = parts.word == kRevokedWord;
  ensure((revoked || parts.word == kPublicWord) && parts.algorithm == kAlgorithm,
         ErrorKind::corrupt, "expected '{} {} <64 digits> <label>'", kPublicWord, kAlgorithm);
  return {.key = key_from_hex(parts.digits), .label = std::move(parts.label), .revoked = revoked};
}

void read_trust_file(const std::filesystem::path& path, std::vector<TrustedKey>& keys) {
  std::istringstream stream(read_file(path, kMostKeyFileBytes));
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    in_context(fmt::format("{}: line {}", path.string(), number),
               [&] { keys.push_back(parse_trusted_key(line)); });
  }
}

void check_label(std::string_view label) {
  const bool plain = !label.empty() && label.front() != '.' &&
                     label.find_first_of("/\n\r\t ") == std::string_view::npos;
  ensure(plain, ErrorKind::invalid, "key label '{}': expected a file name without spaces", label);
}

/// A new file that only its owner may read, from its first moment on.
void write_secret_file(const std::filesystem::path& path, const SecretKey& secret) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ensure(descriptor >= 0, ErrorKind::invalid, "{}: cannot create", path.string());
  const std::string text = fmt::format("{} {} {}\n", kSecretWord, kAlgorithm, hex(secret));
  const auto count = ::write(descriptor, text.data(), text.size());
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  ensure(count == std::ssize(text) && synced, ErrorKind::exhausted, "{}: cannot write",
         path.string());
}

}  // namespace

SecretKey make_secret_key() {
  start_sodium();
  SecretKey secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

PublicKey public_key(const SecretKey& secret) { return SodiumPair(secret).open; }

KeyId key_id(const PublicKey& key) {
  std::array<std::uint8_t, crypto_hash_sha256_BYTES> hash = {};
  crypto_hash_sha256(hash.data(), key.data(), key.size());
  KeyId id;
  std::copy_n(hash.begin(), id.size(), id.begin());
  return id;
}

SignatureBytes sign(std::span<const std::byte> message, const SecretKey& secret) {
  const SodiumPair pair(secret);
  SignatureBytes signature = {};
  crypto_sign_detached(signature.data(), nullptr, data_of(message), message.size(),
                       pair.secret.data());
  return signature;
}

bool is_signature(const SignatureBytes& signature, std::span<const std::byte> message,
                  const PublicKey& key) {
  start_sodium();
  return crypto_sign_verify_detached(signature.data(), data_of(message), message.size(),
                                     key.data()) == 0;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

PublicKey write_key_pair(const std::filesystem::path& directory, std::string_view label) {
  check_label(label);
  const std::filesystem::path secret_path = directory / fmt::format("{}.key", label);
  const std::filesystem::path public_path = directory / fmt::format("{}.pub", label);
  for (const std::filesystem::path& path : {secret_path, public_path})
    ensure(!std::filesystem::exists(path), ErrorKind::invalid, "{}: is there already",
           path.string());
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  ensure(!error, ErrorKind::invalid, "{}: cannot make this directory: {}", directory.string(),
         error.message());
  const SecretKey secret = make_secret_key();
  const PublicKey open = public_key(secret);
  write_secret_file(secret_path, secret);
  AtomicFile file(public_path);
  file.write(fmt::format("{} {} {} {}\n", kPublicWord, kAlgorithm, hex(open), label));
  file.commit();
  return open;
}

SecretKey read_secret_key(const std::filesystem::path& path) {
  return in_context(path.string(), [&] {
    const KeyLine parts = split_key_line(read_file(path, kMostKeyFileBytes));
    ensure(parts.word == kSecretWord && parts.algorithm == kAlgorithm, ErrorKind::corrupt,
           "is no secret key, expected '{} {} <64 digits>'", kSecretWord, kAlgorithm);
    return key_from_hex(parts.digits);
  });
}

std::vector<TrustedKey> read_trust_store(const std::filesystem::path& path) {
  std::vector<TrustedKey> keys;
  if (!std::filesystem::is_directory(path)) {
    read_trust_file(path, keys);
    return keys;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.path().extension() == ".pub") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) read_trust_file(file, keys);
  return keys;
}

}  // namespace parhelion::contract

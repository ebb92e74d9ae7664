#include "base/error.h"
#include "contract/small_core.h"
#include "ir/expect_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace parhelion::contract {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

auto refuses_signature(ErrorKind kind, const std::string& message) {
  return Throws<Error>(
      AllOf(Property(&Error::kind, kind), Property(&Error::what, HasSubstr(message))));
}

auto reading_with(const std::string& file, const Trust& trust) {
  return [&file, trust] { read_core(as_bytes(file), "m", trust); };
}

std::size_t slot_at(const std::string& file, std::int64_t slot) {
  return file.size() - static_cast<std::size_t>(kSignatureBytes - slot * kSlotBytes);
}

std::array<std::uint8_t, 32> from_hex(const std::string& text) {
  std::array<std::uint8_t, 32> result = {};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return result;
}

// RFC 8032, section 7.1, tests 1 to 3.
struct SignatureVector {
  const char *secret, *open, *message, *signature;
};
constexpr std::array<SignatureVector, 3> kVectors = {{
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
     "b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
     "1d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984d"
     "c6594a7c15e9716ed28dc027beceea1ec40a"},
}};

TEST(Signature, GivesThePublishedVectors) {
  for (const SignatureVector& vector : kVectors) {
    const SecretKey secret = from_hex(vector.secret);
    const std::string message = vector.message;
    EXPECT_EQ(hex(public_key(secret)), vector.open);
    EXPECT_EQ(hex(sign(as_bytes(message), secret)), vector.signature);
    EXPECT_TRUE(
        is_signature(sign(as_bytes(message), secret), as_bytes(message), from_hex(vector.open)));
  }
}

TEST(Signature, AnSThatIsNotCanonicalIsRefused) {
  const std::string message = "text";
  SignatureBytes signature = sign(as_bytes(message), kSmallSecret);
  // The order of the group is added to S: the equation holds, the encoding is another.
  constexpr std::array<std::uint8_t, 32> kOrder = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
                                                   0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
                                                   0,    0,    0,    0,    0,    0,    0,    0,
                                                   0,    0,    0,    0,    0,    0,    0,    0x10};
  unsigned carry = 0;
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    carry += unsigned{signature[32 + i]} + kOrder[i];
    signature[32 + i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(is_signature(signature, as_bytes(message), public_key(kSmallSecret)));
}

TEST(SignedCore, WithoutSignatureIsReadOnlyWhereAsked) {
  const std::string file = small_core({});
  EXPECT_THAT(reading_with(file, trust_in(kSmallSecret)),
              refuses_signature(ErrorKind::invalid, "m: SIG_MISSING: has no signature"));
  EXPECT_EQ(read_core(as_bytes(file), "m", trust_in_any()).signature, Signed::by_nobody);
}

TEST(SignedCore, OfAnotherKeyIsReadOnlyWhereAsked) {
  const std::string file = small_core({kOtherSecret});
  EXPECT_THAT(reading_with(file, trust_in(kSmallSecret)),
              refuses_signature(ErrorKind::invalid,
                                "m: SIG_UNTRUSTED_KEY: is signed, but by none of 1 trusted keys"));
  EXPECT_EQ(read_core(as_bytes(file), "m", trust_in_any()).signature, Signed::by_other_key);
}

TEST(SignedCore, OneTrustedKeyOfSeveralIsEnough) {
  const std::string file = small_core({kOtherSecret, kSmallSecret});
  EXPECT_EQ(read_core(as_bytes(file), "m", trust_in(kSmallSecret)).signature,
            Signed::by_trusted_key);
}

TEST(SignedCore, OfARevokedKeyIsRefusedThoughAnotherLineTrustsIt) {
  const std::string file = small_core();
  Trust trust = trust_in(kSmallSecret);
  TrustedKey revoked = trust.keys[0];
  revoked.revoked = true;
  for (const bool comes_first : {false, true}) {
    Trust both = trust;
    both.keys.insert(comes_first ? both.keys.begin() : both.keys.end(), revoked);
    EXPECT_THAT(
        reading_with(file, both),
        refuses_signature(ErrorKind::invalid, "m: SIG_REVOKED: is signed by a revoked key"));
  }
}

TEST(SignedCore, OfARevokedKeyIsRefused) {
  const std::string file = small_core();
  Trust trust = trust_in(kSmallSecret);
  trust.keys[0].revoked = true;
  EXPECT_THAT(reading_with(file, trust),
              refuses_signature(ErrorKind::invalid, "m: SIG_REVOKED: is signed by a revoked key"));
}

TEST(SignedCore, EveryWrongBitOfItsSignatureIsRefusedUnsignedOnesAllowedOrNot) {
  const std::string file = small_core();
  Trust lax = trust_in(kSmallSecret);
  lax.allow_unsigned = true;
  for (std::size_t bit = 0; bit < 512; bit += 5) {
    std::string changed = file;
    char& byte = changed[slot_at(file, 0) + 24 + bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    EXPECT_THAT(reading_with(changed, trust_in(kSmallSecret)),
                refuses_signature(ErrorKind::corrupt, "m: SIG_INVALID: "));
    EXPECT_THAT(reading_with(changed, lax),
                refuses_signature(ErrorKind::corrupt, "m: SIG_INVALID: "));
  }
}

TEST(SignedCore, ASignatureOfAnotherCoreIsRefused) {
  const std::string file = small_core();
  CoreParts parts = take_apart(file);
  parts.contents[3] = "{{ other }}";
  std::string other = put_together(parts);
  other.replace(slot_at(other, 0), std::string::npos, file.substr(slot_at(file, 0)));
  EXPECT_THAT(reading_with(other, trust_in(kSmallSecret)),
              refuses_signature(ErrorKind::corrupt, "m: SIG_INVALID: "));
}

TEST(SignedCore, AKeySignsOnce) {
  std::string file = small_core();
  const std::string slot = file.substr(slot_at(file, 0), static_cast<std::size_t>(kSlotBytes));
  file.replace(slot_at(file, 1), slot.size(), slot);
  EXPECT_THAT(reading_with(file, trust_in(kSmallSecret)),
              refuses_signature(ErrorKind::corrupt, "SIG_INVALID: key"));
}

TEST(SignedCore, AnUnknownAlgorithmIsNamed) {
  std::string file = small_core();
  file[slot_at(file, 0)] = 2;
  EXPECT_THAT(reading_with(file, trust_in(kSmallSecret)),
              refuses_signature(ErrorKind::unsupported, "SIG_ALGORITHM_UNKNOWN: "));
}

TEST(SignCore, AddsASignatureAndLeavesTheRest) {
  const ScratchDirectory directory;
  const std::filesystem::path path = directory.path() / "m.core";
  const std::string before = small_core({});
  std::ofstream(path, std::ios::binary) << before;
  sign_core(path, kSmallSecret);
  EXPECT_EQ(read_file(path), small_core({kSmallSecret}));
  sign_core(path, kOtherSecret);
  sign_core(path, kOtherSecret);
  EXPECT_EQ(read_file(path), small_core({kSmallSecret, kOtherSecret}));
}

TEST(SignCore, HasPlacesForEightKeys) {
  const ScratchDirectory directory;
  const std::filesystem::path path = directory.path() / "m.core";
  std::vector<SecretKey> keys(8);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i][31] = static_cast<std::uint8_t>(i + 1);
  std::ofstream(path, std::ios::binary) << small_core(keys);
  expect_error(ErrorKind::invalid, path.string() + ": has 8 signatures, expected a free place",
               [&] { sign_core(path, kSmallSecret); });
}

TEST(Keys, APairIsWrittenOnceAndReadBack) {
  const ScratchDirectory directory;
  const PublicKey open = write_key_pair(directory.path(), "release");
  EXPECT_EQ(public_key(read_secret_key(directory.path() / "release.key")), open);
  const std::vector<TrustedKey> trusted = read_trust_store(directory.path());
  ASSERT_EQ(trusted.size(), 1u);
  EXPECT_EQ(trusted[0].key, open);
  EXPECT_EQ(trusted[0].label, "release");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(directory.path() / "release.key").permissions() & perms::all,
            perms::owner_read | perms::owner_write);
  expect_error(ErrorKind::invalid,
               (directory.path() / "release.key").string() + ": is there already",
               [&] { write_key_pair(directory.path(), "release"); });
}

TEST(Keys, ALabelIsAPlainFileName) {
  for (const char* label : {"", "a/b", "..", "a b"})
    EXPECT_THROW(write_key_pair("unused", label), Error) << label;
}

TEST(Keys, AStoreSaysWhichKeysAreRevoked) {
  const ScratchDirectory directory;
  const std::filesystem::path path = directory.path() / "trust";
  std::ofstream(path) << "# keys\n\nparhelion-public-key ed25519 " << kVectors[0].open
                      << " of the RFC\nparhelion-revoked-key ed25519 " << kVectors[1].open << "\n";
  const std::vector<TrustedKey> keys = read_trust_store(path);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].label, "of the RFC");
  EXPECT_FALSE(keys[0].revoked);
  EXPECT_TRUE(keys[1].revoked);
}

TEST(Keys, ALineThatIsNoKeyIsNamed) {
  const ScratchDirectory directory;
  const std::filesystem::path path = directory.path() / "trust";
  for (const char* line :
       {"parhelion-public-key rsa 00", "hello", "parhelion-public-key ed25519 0g"}) {
    std::ofstream(path) << "\n" << line << "\n";
    EXPECT_THAT([&] { read_trust_store(path); },
                refuses_signature(ErrorKind::corrupt, "trust: line 2: "));
  }
  EXPECT_THROW(read_secret_key(path), Error);
}

}  // namespace
}  // namespace parhelion::contract

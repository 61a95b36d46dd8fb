import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { Type } from 'typebox'
import { createChecker } from '../../../platform/values/checker.ts'
import type { RelyingParty } from './relying-party.ts'
import type { NewPasskey, PasskeyKey } from './store.ts'

/** Maximum number of characters of an answer. Keys and signatures of all kinds have a few thousand. */
const longestAnswer = 20_000

const Encoded = Type.String({ pattern: '^[A-Za-z0-9_-]*$' })
const Answer = Type.Object({
  id: Encoded,
  rawId: Encoded,
  type: Type.Literal('public-key'),
  response: Type.Object({ clientDataJSON: Encoded }),
})
const SetupAnswer = Type.Object({
  response: Type.Object({
    attestationObject: Encoded,
    transports: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z-]{1,20}$' }), { maxItems: 10 })),
  }),
})
const ProofAnswer = Type.Object({
  response: Type.Object({
    authenticatorData: Encoded,
    signature: Encoded,
    userHandle: Type.Optional(Encoded),
  }),
})
/** Our pages are never in a frame of another site: an answer from within such a frame was requested by that site. */
const ClientData = Type.Object({
  challenge: Encoded,
  crossOrigin: Type.Optional(Type.Literal(false)),
  topOrigin: Type.Optional(Type.Never()),
})

const answers = createChecker(Answer)
const setupAnswers = createChecker(SetupAnswer)
const proofAnswers = createChecker(ProofAnswer)
const clientData = createChecker(ClientData)

/** The answer of a device that creates a key. */
export interface SetupAnswer {
  readonly challenge: string
  readonly json: RegistrationResponseJSON
}
/** The answer of a device that proves a key. */
export interface ProofAnswer {
  readonly challenge: string
  readonly credentialId: Buffer
  readonly json: AuthenticationResponseJSON
}

/** `null`: the text is no such answer. */
export function readSetupAnswer(text: string): SetupAnswer | null {
  const answer = readAnswer(text)
  if (!answer || !setupAnswers.check(answer.value)) return null
  const { id, rawId, response } = answer.value
  const { clientDataJSON, attestationObject, transports = [] } = response
  const json = { clientDataJSON, attestationObject, transports: [...transports] }
  return {
    challenge: answer.challenge,
    json: {
      id,
      rawId,
      type: 'public-key',
      clientExtensionResults: {},
      response: json as RegistrationResponseJSON['response'],
    },
  }
}

/** `null`: the text is no such answer. */
export function readProofAnswer(text: string): ProofAnswer | null {
  const answer = readAnswer(text)
  if (!answer || !proofAnswers.check(answer.value)) return null
  const { id, rawId, response } = answer.value
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  return {
    challenge: answer.challenge,
    credentialId: Buffer.from(id, 'base64url'),
    json: {
      id,
      rawId,
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON, authenticatorData, signature, ...(userHandle ? { userHandle } : {}) },
    },
  }
}

function readAnswer(text: string) {
  if (text.length > longestAnswer) return null
  const value = parsed(text)
  if (!answers.check(value)) return null
  const data = parsed(Buffer.from(value.response.clientDataJSON, 'base64url').toString())
  return clientData.check(data) ? { value, challenge: data.challenge } : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** An optional package (platform/process/optional-packages.ts). */
export const webAuthnPackage = '@simplewebauthn/server'

/** Loaded at the first use of a passkey: it is large, and most processes never need it. */
export function loadWebAuthn() {
  return import('@simplewebauthn/server')
}

/** The key that a device has created; null when the answer is not valid. */
export async function verifySetup(
  { challenge, json }: SetupAnswer,
  party: RelyingParty,
): Promise<Omit<NewPasskey, 'userId' | 'name'> | null> {
  const { verifyRegistrationResponse } = await loadWebAuthn()
  const response = { ...json, response: { ...json.response, ...(await withoutAttestation(json)) } }
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: false,
    supportedAlgorithmIDs: [...algorithms],
  })
  if (!verified) return null
  const { credential, credentialBackedUp } = registrationInfo
  return {
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    signCount: credential.counter,
    transports: json.response.transports ?? [],
    backedUp: credentialBackedUp,
  }
}

/**
 * The maker of a device does not matter here. Certificates that are sent anyway are removed before they are checked: checking them
 * would request addresses in them, which a stranger chooses.
 */
async function withoutAttestation({ response }: RegistrationResponseJSON): Promise<{ attestationObject: string }> {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const sent = decodeAttestationObject(Uint8Array.from(Buffer.from(response.attestationObject, 'base64url')))
  const bare = isoCBOR.encode(
    new Map<string, string | Uint8Array | Map<string, string>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, string>()],
      ['authData', sent.get('authData')],
    ]),
  )
  return { attestationObject: Buffer.from(bare).toString('base64url') }
}

/** ES256, EdDSA, RS256: the signature algorithms of devices, best first. */
export const algorithms = [-7, -8, -257] as const

/** The values to store after a use of a key; null when the signature is not valid. */
export async function verifyProof(
  { challenge, json }: ProofAnswer,
  key: PasskeyKey,
  party: RelyingParty,
  { byItself }: { byItself: boolean },
): Promise<{ signCount: number; backedUp: boolean } | null> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: json,
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: byItself,
    credential: {
      id: key.credentialId.toString('base64url'),
      publicKey: Uint8Array.from(key.publicKey),
      counter: key.signCount,
    },
  })
  if (!verified) return null
  return { signCount: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp }
}

/**
 * Passkeys: keys that devices create for this service and its users, as a second factor or for a sign-in without a password. A
 * *challenge* is signed by a device; each is used up by the first answer. Devices *set up* a passkey once and *prove* it
 * afterwards.
 */
import { randomBytes } from 'node:crypto'
import type { BaseConfigService } from '../../../config/service.ts'
import type { Db, Tx } from '../../../platform/postgres/db.ts'
import { isInstalled } from '../../../platform/process/optional-packages.ts'
import type { AnonymousQuotas } from '../../anonymous-quotas.ts'
import { tokenHash } from '../../sessions/token.ts'
import { mostPasskeys } from './name.ts'
import { relyingPartyOf } from './relying-party.ts'
import * as store from './store.ts'
import {
  algorithms,
  loadWebAuthn,
  readProofAnswer,
  readSetupAnswer,
  verifyProof,
  verifySetup,
  webAuthnPackage,
} from './webauthn.ts'

/** Seconds for which a challenge is valid, and for which browsers wait for the device. */
const lifetime = 300

/** The expected sender of the answer: a browser, and its user if already known. */
export interface Answerer {
  readonly browserHash: Buffer
  readonly userId: number | null
}

export type Passkeys = ReturnType<typeof createPasskeys>

export interface PasskeyDependencies {
  db: Db
  strangers: AnonymousQuotas
  baseConfig: BaseConfigService
  externalUrl: string
}

export function createPasskeys({ db, strangers, baseConfig, externalUrl }: PasskeyDependencies) {
  // Without the package, passkeys are not offered.
  const party = isInstalled(webAuthnPackage) ? relyingPartyOf(externalUrl) : null

  async function challenge(answerer: Answerer, purpose: store.Challenge['purpose']): Promise<string> {
    const text = randomBytes(32).toString('base64url')
    await store.insertChallenge(db, { ...answerer, hash: tokenHash(text), purpose }, lifetime)
    return text
  }

  return {
    /** Whether they can be used: they are switched on in the base configuration, and the address of the service has a host name. */
    available(): boolean {
      const { enabled, methods } = baseConfig.get().two_factor
      return party !== null && enabled && methods.includes('passkey')
    },

    /** The options for a browser to set one up (WebAuthn, `PublicKeyCredentialCreationOptionsJSON`). */
    async setupOptions(
      answerer: Answerer & { userId: number },
      { login, instance }: { login: string; instance: string },
    ): Promise<object> {
      const [handle, keys, text] = await Promise.all([
        store.handleOf(db, answerer.userId, randomBytes(32)),
        store.findKeys(db, answerer.userId),
        challenge(answerer, 'setup'),
      ])
      return {
        rp: { id: party?.id, name: instance },
        user: { id: handle.toString('base64url'), name: login, displayName: login },
        challenge: text,
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        timeout: lifetime * 1000,
        // A device creates only one for each user.
        excludeCredentials: keys.map(describe),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
        attestation: 'none',
      }
    },

    /** The options for a browser to prove one (`PublicKeyCredentialRequestOptionsJSON`). */
    async proofOptions(answerer: Answerer & { readonly remoteAddr: string }): Promise<object> {
      const { userId } = answerer
      if (userId === null) await strangers.admit(answerer.remoteAddr)
      const [keys, text] = await Promise.all([
        userId === null ? [] : store.findKeys(db, userId),
        challenge(answerer, 'proof'),
      ])
      return {
        rpId: party?.id,
        challenge: text,
        timeout: lifetime * 1000,
        allowCredentials: keys.map(describe),
        // Without a password, the device must verify its user.
        userVerification: userId === null ? 'required' : 'preferred',
      }
    },

    /** Must be called before a transaction that checks an answer. */
    ready: async (): Promise<void> => void (await loadWebAuthn()),

    /** Stores the key that a device has created. False: the answer is not valid. */
    async add(tx: Tx, answerer: Answerer & { userId: number }, name: string, text: string): Promise<boolean> {
      const answer = readSetupAnswer(text)
      if (!answer || party === null) return false
      const asked = { ...answerer, hash: tokenHash(answer.challenge), purpose: 'setup' as const }
      if (!(await store.takeChallenge(tx, asked))) return false
      if ((await store.findKeys(tx, answerer.userId)).length >= mostPasskeys) return false
      const made = await orNull(verifySetup(answer, party))
      return made !== null && store.insertPasskey(tx, { ...made, userId: answerer.userId, name })
    },

    /** The user whose passkey has answered; null when the answer is not valid. */
    async prove(tx: Tx, answerer: Answerer, text: string): Promise<number | null> {
      const answer = readProofAnswer(text)
      if (!answer || party === null) return null
      const asked = { ...answerer, hash: tokenHash(answer.challenge), purpose: 'proof' as const }
      if (!(await store.takeChallenge(tx, asked))) return null
      const key = await store.lockKey(tx, answer.credentialId)
      if (!key || (answerer.userId !== null && key.userId !== answerer.userId)) return null
      const handle = answer.json.response.userHandle
      const byItself = answerer.userId === null
      // A key that signs in by itself names its user, which must be the user for whom it was created.
      if (handle === undefined ? byItself : handle !== key.handle?.toString('base64url')) return null
      const used = await orNull(verifyProof(answer, key, party, { byItself }))
      if (!used) return null
      await store.markUsed(tx, key.id, used)
      return key.userId
    },
  }
}

function describe({ credentialId, transports }: store.PasskeyKey) {
  return { type: 'public-key', id: credentialId.toString('base64url'), transports }
}

/** The input of a stranger may be wrong in every way, and each way has a different error. */
async function orNull<T>(checked: Promise<T | null>): Promise<T | null> {
  try {
    return await checked
  } catch {
    return null
  }
}

import type { Db } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { hasTotp, lockOtherwiseSealed, replaceSecrets } from './store.ts'
import { totpAbout } from './totp.ts'

/** Bytes of an unsealed secret of earlier releases. */
const bareLength = 20

/** Seals all secrets of apps with the current key. Returns the number of secrets that none of the keys opens. */
export async function resealFactors(db: Db, seal: Seal): Promise<number> {
  // Without any app there are no secrets to seal, and no key is needed.
  if (!(await hasTotp(db))) return 0
  const prefix = await seal.prefix()
  return db.transaction(async (tx) => {
    const rows = await lockOtherwiseSealed(tx, prefix)
    const renewed: { userId: number; secret: Buffer }[] = []
    for (const { userId, secret } of rows) {
      const about = totpAbout(userId)
      const bare = secret.length === bareLength ? secret : await seal.open(secret, about)
      if (bare) renewed.push({ userId, secret: await seal.seal(bare, about) })
    }
    if (renewed.length > 0) {
      const [userIds, secrets] = [renewed.map(({ userId }) => userId), renewed.map(({ secret }) => secret)]
      await replaceSecrets(tx, userIds, secrets)
    }
    return rows.length - renewed.length
  })
}

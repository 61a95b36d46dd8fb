/** Mails that tell people of a collection that is shared with them, each in the language of its reader. */

import type { Mail, MailQuota, MailService } from '../../mail/service.ts'
import type { AccountUuids, mailRecipients } from '../../people/service.ts'
import { findUsers } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import { callerOf } from '../../platform/limits/callers.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { html } from '../../platform/values/html.ts'
import type { Localized } from '../../platform/values/localized.ts'
import type { StoredGrant } from '../../rights/service.ts'
import { languageOf, type OwnTexts } from '../../signin/service.ts'
import type { CollectionFields } from '../model.ts'
import type { Notice } from './notices.ts'
import { shareUrl } from './service.ts'

export interface ShareMailDeps {
  readonly mail: Pick<MailService, 'send' | 'sendWhenWanted' | 'isConfigured'>
  readonly recipients: typeof mailRecipients
  readonly accountUuids: Pick<AccountUuids, 'read'>
  /** `share_url` of those presets of collections that have one. */
  readonly shareUrls: (tx: Tx, presetIds: readonly number[]) => Promise<ReadonlyMap<number, string>>
  readonly ownTexts: OwnTexts
  readonly instanceName: () => string
  /** Languages of front ends, for readers without a language setting. */
  readonly languages: () => readonly string[]
  readonly externalUrl: string
  readonly mailQuota: MailQuota
  readonly clock: () => Date
}

type Told = Pick<CollectionFields, 'displayname' | 'uuid'> & { readonly id: number }

export type ShareMails = ReturnType<typeof createShareMails>

/** Recipients that are counted for a request, and those of them to whom it has written. */
export interface MailBudget {
  readonly counted: number
  written: number
}

/** There are more recipients than were counted. */
class Uncounted extends Error {
  readonly recipients: number
  constructor(recipients: number) {
    super(`${recipients} recipients are not counted yet`)
    this.recipients = recipients
  }
}

export function createShareMails(deps: ShareMailDeps) {
  const { mail, mailQuota } = deps

  /**
   * Does work whose transaction sends mails. How many there are is known within it only, and they are counted outside: so work
   * that comes to uncounted mails is rolled back, and done once more when they are. Not used ones are given back.
   * @throws {AppError} `QuotaExceeded`, and what the work throws
   */
  async function withinQuota<T>(actor: Actor, work: (budget: MailBudget) => Promise<T>): Promise<T> {
    const caller = callerOf(actor, actor.remoteAddr)
    let counted = 0
    for (;;) {
      const budget: MailBudget = { counted, written: 0 }
      let done = false
      let wanted = 0
      try {
        const result = await work(budget)
        done = true
        return result
      } catch (error) {
        if (!(error instanceof Uncounted)) throw error
        wanted = error.recipients
      } finally {
        const unused = counted - (done ? budget.written : 0)
        if (unused > 0) await mailQuota.giveBack(caller, unused)
      }
      await mailQuota.reserve(caller, wanted)
      counted = wanted
    }
  }

  /**
   * Queues them, in the transaction of the grants, which `withinQuota` has begun.
   * @throws {AppError} where no mail can be sent
   */
  async function send(
    tx: Tx,
    actor: Actor,
    budget: MailBudget,
    notices: readonly (Notice & { readonly collection: Told })[],
  ): Promise<void> {
    const [first] = notices
    if (!first) return
    if (!mail.isConfigured()) {
      const message = 'No mail can be sent: the base configuration has no mail server or no sender.'
      throw badRequest(message, { path: first.path, names: ['email.from', 'email_server.server_addr'] })
    }
    const people = notices.flatMap(({ grant: { who } }) => (isPerson(who) ? [who] : []))
    const recipients = Map.groupBy(await deps.recipients(tx, [...new Set(people)]), ({ via }) => via)
    const due = notices.flatMap((notice) =>
      (isPerson(notice.grant.who) ? (recipients.get(notice.grant.who) ?? []) : []).map((reader) => ({
        notice,
        reader,
      })),
    )
    if (due.length === 0) return
    if (due.length > budget.counted) throw new Uncounted(due.length)
    budget.written = due.length
    const ids = [...new Set(due.map(({ reader }) => reader.userId))]
    const users = new Map((await findUsers(tx, ids)).map((user) => [user.id, user]))
    const uuids = await deps.accountUuids.read(tx, ids)
    const urls = await deps.shareUrls(
      tx,
      due.flatMap(({ notice }) => notice.grant.preset ?? []),
    )
    const letters = due.map(({ notice: { grant, text, collection }, reader }) => {
      const { frontend_language: own } = users.get(reader.userId)?.profile ?? {}
      const wished = [...(typeof own === 'string' && own ? [own] : []), ...reader.languages]
      const base = urls.get(grant.preset ?? 0) ?? deps.externalUrl
      const uuid = uuids.get(reader.userId)
      const letter = write(actor, {
        text,
        collection,
        to: reader.email,
        until: grant.to ?? null,
        languages: wished.length > 0 ? wished : deps.languages(),
        address: shareUrl(base, collection.uuid),
        signIn: uuid === undefined ? null : { login: reader.email, password: uuid },
      })
      return {
        ...reader,
        hasSecret: uuid !== undefined,
        mail: { ...letter, key: `share:${grant.id}:${reader.userId}` },
      }
    })
    // Mails with a sign-in secret are stored sealed, and are not delayed to the recipients' preferred time.
    const [secret, plain] = [letters.filter((one) => one.hasSecret), letters.filter((one) => !one.hasSecret)]
    await mail.send(
      tx,
      secret.map((one) => one.mail),
    )
    await mail.sendWhenWanted(tx, plain, deps.clock())
  }

  function write(
    actor: Actor,
    given: {
      readonly text: string
      readonly collection: Told
      readonly to: string
      readonly until: string | null
      readonly languages: readonly string[]
      readonly address: string
      readonly signIn: { readonly login: string; readonly password: string } | null
    },
  ): Mail {
    const { collection, address, signIn, languages, until } = given
    const { tag, text } = languageOf(languages.join(','), deps.ownTexts)
    const named = nameIn(collection.displayname, [tag, ...languages])
    const values = {
      sender: line(actor.displayname),
      collection: line(named) || String(collection.id),
      instance: line(deps.instanceName()),
    }
    // Behind the `#`: it appears in no server log and in no referrer.
    const link = signIn ? `${address}#${new URLSearchParams({ auth_method: 'email', ...signIn })}` : address
    const told = text('mail.share.text', values)
    const before = until === null ? '' : text('mail.share.until', { date: until.slice(0, 10) })
    const message = given.text.trim()
    const of = message === '' ? '' : text('mail.share.message', values)
    return {
      template: 'collection_share',
      to: [given.to],
      subject: line(text('mail.share.subject', values)),
      text: [told, of && `${of}\n${quoted(message)}`, `${text('mail.share.link')}\n${link}`, before]
        .filter((part) => part !== '')
        .join('\n\n'),
      html: html`<p>${told}</p>
${message === '' ? '' : html`<p>${of}</p><blockquote style="white-space: pre-line">${message}</blockquote>`}
<p><a href="${link}">${text('mail.share.link')}</a></p>
<p>${before}</p>`.toString(),
      languages: [tag, ...languages],
      cause: {
        Collection: values.collection,
        CollectionID: collection.id,
        CollectionURL: address,
        User: actor.displayname,
        UserID: actor.userId,
      },
    }
  }

  return { send, withinQuota }
}

function isPerson(who: StoredGrant['who']): who is `u${number}` | `g${number}` {
  return who !== 'owner' && who !== 'contact'
}

function nameIn(names: Localized, languages: readonly string[]): string {
  return languages.map((language) => names[language]).find(Boolean) ?? Object.values(names)[0] ?? ''
}

/** Text for one line of a mail: people type names. */
function line(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, 200)
}

const quoted = (message: string): string => message.replaceAll(/^/gm, '> ')

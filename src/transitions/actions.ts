import type { EventLog } from '../events/service.ts'
import type { JobContext, Jobs } from '../jobs/service.ts'
import type { MailService, WaitingMail } from '../mail/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { Schedule } from '../platform/values/schedule.ts'
import type { Person } from '../rights/service.ts'
import type { WebhookService } from '../webhooks/service.ts'
import { attempts, type EffectJob, type EffectObject, effectJobNames } from './effects.ts'
import { type MailObject, transitionMail } from './mail-text.ts'
import { type Action, rootUserId, verdictOf } from './model.ts'
import type { SetterDeps } from './setters.ts'
import { withheldEvents } from './withheld.ts'

/** A user who gets mail; `via` is the requested principal: the user or one of its groups. */
export interface Recipient {
  readonly via: Person
  readonly userId: number
  readonly email: string
  readonly languages: readonly string[]
  readonly schedule: Schedule | null
}

/** Renders objects for mails and webhooks. */
export interface ActionObjects {
  /** The objects that the actor may see, also those in the trash, with their short texts in the best language. */
  describe(
    actor: Actor,
    systemObjectIds: readonly number[],
    languages: readonly string[],
  ): Promise<ReadonlyMap<number, { readonly text: string; readonly uuid: string }>>
  /** The objects as the actor may see them, in full, in their current state; purged ones are left out. */
  render(actor: Actor, systemObjectIds: readonly number[]): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export interface ActionOptions {
  db: Db
  jobs: Pick<Jobs, 'register' | 'enqueue'>
  mail: MailService
  webhooks: WebhookService
  /** Addresses of users, and of the users of groups; users without one are left out. */
  recipients: (from: Queryable, people: readonly Person[]) => Promise<readonly Recipient[]>
  objects: ActionObjects
  events: Pick<EventLog, 'append'>
  /** Gives the actors for actions: they run with the rights of the user who has set the transition. */
  actorsOf: SetterDeps['actorsOf']
  externalUrl: string
  /** The address of the page of an object; null: there is none. */
  linkOf: (object: { readonly systemObjectId: number; readonly uuid: string }) => string | null
  /** Languages of the instance, best first: for readers who have not chosen any. */
  languages: () => readonly string[]
}

/** Registers the handlers of the jobs of transitions: mails and webhooks, after the commit. */
export function registerTransitionActions(options: ActionOptions): void {
  const { jobs } = options
  jobs.register<EffectJob<'email'>>(effectJobNames.email, (job, { jobId }) => sendMails(options, job, jobId))
  const call = async (job: EffectJob<'webhook'>, context: JobContext): Promise<void> => {
    const leave = await options.webhooks.place(job.action.name, context.signal)
    if (!leave) return putOff(options, job, context)
    try {
      await callWebhook(options, job, context)
    } finally {
      leave()
    }
  }
  jobs.register(effectJobNames.webhook, call, 'webhook')
}

/** The longest delay of a postponed call, in seconds. */
const longestPause = 60

/** Postpones a call so that others get their turn; the call keeps its id and its number of attempts. */
async function putOff({ db, jobs }: ActionOptions, job: EffectJob<'webhook'>, context: JobContext): Promise<void> {
  // A job that is being stopped is retried unchanged.
  context.signal.throwIfAborted()
  const before = job.putOff ?? { id: context.jobId, times: 0, attempts: 0 }
  const had = before.attempts + context.attempt - 1
  const later = { ...before, times: before.times + 1, attempts: had }
  const pause = Math.min(longestPause, 2 ** before.times)
  await db.transaction((tx) =>
    jobs.enqueue(
      tx,
      effectJobNames.webhook,
      { ...job, putOff: later },
      {
        runAt: new Date(Date.now() + pause * 1000),
        maxAttempts: Math.max(1, attempts.webhook - had),
      },
    ),
  )
}

async function callWebhook(
  options: ActionOptions,
  job: EffectJob<'webhook'>,
  { jobId, attempt, signal }: JobContext,
): Promise<void> {
  const isFirst = attempt === 1 && !job.putOff?.attempts
  const setter = await setterOf(options, job)
  if (!setter) return tellWithheld(options, job, 'user', job.objects)
  const objects = await options.objects.render(setter, idsOf(job.objects))
  const told = toldOf(job.objects, setter, new Set(objects.map((object) => object._system_object_id as number)))
  if (told.length < job.objects.length) {
    if (isFirst) await tellWithheld(options, job, 'right', leftOut(job.objects, told))
    if (told.length === 0) return
  }
  const info = webhookInfo({ ...job, objects: told }, options.externalUrl, setter)
  const outcome = await options.webhooks.call({
    name: job.action.name,
    userId: job.actor?.userId ?? null,
    id: String(job.putOff?.id ?? jobId),
    payload: { info, objects },
    signal,
  })
  if (outcome === 'failed') throw new Error(`webhook ${job.action.name} failed`)
}

/**
 * The user who has set the transition, if the user may act now. Jobs that were queued before this was recorded belong to root, like
 * their transitions.
 */
async function setterOf(
  { db, actorsOf }: ActionOptions,
  { transition }: Pick<EffectJob, 'transition'>,
): Promise<Actor | undefined> {
  const id = transition.setBy ?? rootUserId
  return (await actorsOf(db, [id])).get(id)
}

function idsOf(objects: readonly EffectObject[]): number[] {
  return objects.flatMap(({ systemObjectId }) => systemObjectId ?? [])
}

/** The objects that the setter of the transition may report. A refused insert is reported without any data of the object. */
function toldOf(objects: readonly EffectObject[], setter: Actor, seen: ReadonlySet<number>): readonly EffectObject[] {
  if (setter.isRoot) return objects
  return objects.filter(({ systemObjectId: id }) => id === null || seen.has(id))
}

function leftOut(all: readonly EffectObject[], told: readonly EffectObject[]): readonly EffectObject[] {
  const kept = new Set(told)
  return all.filter((object) => !kept.has(object))
}

async function tellWithheld(
  { db, events }: ActionOptions,
  {
    transition: { id, setBy = rootUserId },
    action,
  }: Pick<EffectJob, 'transition'> & { readonly action: Pick<Action, 'type'> },
  reason: 'user' | 'right',
  objects: readonly EffectObject[],
): Promise<void> {
  const transition = { id, setBy }
  await events.append(
    db,
    withheldEvents([{ transition, action: action.type, reason, systemObjectIds: idsOf(objects) }]),
  )
}

function webhookInfo(job: EffectJob<'webhook'>, externalUrl: string, setter: Actor): Record<string, unknown> {
  const { transition, actor, events, objects } = job
  return {
    api_url: `${externalUrl.replace(/\/$/, '')}/api/v1`,
    transition: { _id: transition.id, type: transition.type, comment: transition.comment },
    rejected: verdictOf(transition.type) === 'reject',
    operations: objects.map(({ operation, systemObjectId, version }) => ({
      operation,
      _system_object_id: systemObjectId,
      _version: version,
    })),
    ...(actor ? { api_user: { _basetype: 'user', user: { _id: actor.userId, ...pick(actor) } } } : {}),
    // The info of a log entry may concern any record.
    ...(events
      ? { events: events.map(({ id, type, info }) => ({ _id: id, type, ...(setter.isRoot ? { info } : {}) })) }
      : {}),
  }
}

function pick(actor: NonNullable<EffectJob['actor']>): Record<string, unknown> {
  return {
    login: actor.login,
    _generated_displayname: actor.displayname,
    ...(actor.reference === null ? {} : { reference: actor.reference }),
  }
}

/** One mail for each reader, about the objects that concern it. */
async function sendMails(options: ActionOptions, job: EffectJob<'email'>, jobId: number): Promise<void> {
  const setter = await setterOf(options, job)
  if (!setter) return tellWithheld(options, job, 'user', job.objects)
  const seen = setter.isRoot ? new Map() : await options.objects.describe(setter, idsOf(job.objects), [])
  const told = toldOf(job.objects, setter, new Set(seen.keys()))
  if (told.length < job.objects.length) {
    await tellWithheld(options, job, 'right', leftOut(job.objects, told))
    if (told.length === 0) return
  }
  const asked = objectsByPerson({ ...job, objects: told })
  const found = await options.recipients(options.db, [...asked.keys()])
  const readers = new Map<number, { reader: Recipient; objects: Set<EffectObject> }>()
  for (const reader of found) {
    const entry = readers.get(reader.userId) ?? { reader, objects: new Set() }
    for (const object of asked.get(reader.via) ?? []) entry.objects.add(object)
    readers.set(reader.userId, entry)
  }
  const mails: WaitingMail[] = []
  for (const { reader, objects } of readers.values()) {
    const languages = reader.languages.length > 0 ? reader.languages : options.languages()
    const text = transitionMail(job, await shown(options, setter, [...objects], languages), languages)
    const mail = {
      ...text,
      key: `${effectJobNames.email}:${jobId}:${reader.userId}`,
      template: verdictOf(job.transition.type) === 'reject' ? 'transition_reject' : 'transition_resolve',
      to: [reader.email],
      languages,
      cause: { UserID: reader.userId, TransitionID: job.transition.id },
    }
    mails.push({ userId: reader.userId, schedule: job.action.batchable ? reader.schedule : null, mail })
  }
  await options.db.transaction((tx) => options.mail.sendWhenWanted(tx, mails, new Date()))
}

/** The objects by recipient of a mail; owners and pool contacts are those of each object. */
function objectsByPerson({ action, objects }: EffectJob<'email'>): Map<Person, EffectObject[]> {
  const people = new Map<Person, EffectObject[]>()
  const add = (person: Person | null, concerned: readonly EffectObject[]): void => {
    if (person !== null) people.set(person, [...(people.get(person) ?? []), ...concerned])
  }
  for (const who of action.recipients) {
    if (who === 'owner') for (const object of objects) add(object.owner, [object])
    else if (who === 'contact') for (const object of objects) add(object.contact, [object])
    else add(who, objects)
  }
  return people
}

/** Texts of objects, with their addresses; deleted objects have no address. */
async function shown(
  { objects: described, linkOf }: ActionOptions,
  setter: Actor,
  objects: readonly EffectObject[],
  languages: readonly string[],
): Promise<readonly MailObject[]> {
  const known = await described.describe(setter, idsOf(objects), languages)
  const deleted = new Set(idsOf(objects.filter(({ operation }) => operation === 'DELETE')))
  return idsOf(objects).map((id) => {
    const found = known.get(id)
    const link = found && !deleted.has(id) ? linkOf({ systemObjectId: id, uuid: found.uuid }) : null
    return { text: found?.text || `#${id}`, link }
  })
}

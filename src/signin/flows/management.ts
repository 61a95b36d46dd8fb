import type { Login } from './login.ts'

/** Name of the step in which users manage their own second factors. */
export const managementStep = 'security'

/** Notes of a sign-in that was begun for this. */
export const managementNotes: Login['notes'] = { [managementStep]: { asked: true } }

export const isManaged = ({ notes }: Pick<Login, 'notes'>): boolean => notes[managementStep] !== undefined

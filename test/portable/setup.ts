import { reasons as darwin } from '../darwin/left-out.js';
import { leaveOut } from '../support/left-out.js';
import { reasons } from './left-out.js';

leaveOut({ ...darwin, ...reasons });
